CREATE TABLE read_only_kernels (id INTEGER);

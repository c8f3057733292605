CREATE TABLE rocpd_api (id INTEGER);

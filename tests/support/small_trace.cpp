#include "tests/support/small_trace.h"

#include <QFile>

namespace faultline::test {

namespace {

QByteArray event(const char* category, const QByteArray& name, int pid, int tid, double start, double duration, const QByteArray& args) {
    return "{\"ph\":\"X\",\"cat\":\"" + QByteArray(category) + "\",\"name\":\"" + name + "\",\"pid\":" + QByteArray::number(pid) +
           ",\"tid\":" + QByteArray::number(tid) + ",\"ts\":" + QByteArray::number(start, 'f', 3) +
           ",\"dur\":" + QByteArray::number(duration, 'f', 3) + ",\"args\":{" + args + "}}";
}

QByteArray trace(int steps, const QByteArray& extra) {
    QByteArray json =
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"Test GPU\"}],\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":0,\"args\":{\"name\":\"python\"}}";
    for (int i = 0; i < steps; ++i) {
        const double t = 1000.0 + i * 1000.0;
        const QByteArray correlation = QByteArray::number(i + 1);
        json += ",\n" + event("user_annotation", "execute_context_0(0)_generation_2(2)", 100, 100, t, 400, "");
        json += ",\n" + event("cpu_op", "aten::mm", 100, 100, t + 10, 100, "\"External id\":" + correlation);
        json += ",\n" + event("cuda_runtime", "cudaLaunchKernel", 100, 100, t + 20, 10, "\"correlation\":" + correlation);
        json += ",\n" + event("kernel", "gemm_bf16", 0, 7, t + 200, 500, "\"device\":0,\"stream\":7,\"correlation\":" + correlation);
    }
    return json + extra + "\n]}\n";
}

}  // namespace

QByteArray small_trace(int steps) { return trace(steps, {}); }
QByteArray damaged_trace(int steps) {
    return trace(steps, ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"broken\",\"pid\":100,\"tid\":100,\"ts\":nan,\"dur\":1}");
}

bool write_file(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

}  // namespace faultline::test

// A small PyTorch trace as a file, for tests that import.
#pragma once

#include <QByteArray>
#include <QString>

namespace faultline::test {

/// Steps of vLLM with an operator, a launch and its kernel each; as long as `steps` asks. Every event is good.
QByteArray small_trace(int steps);
/// The same with one event that cannot be parsed.
QByteArray damaged_trace(int steps);
bool write_file(const QString& path, const QByteArray& bytes);

}  // namespace faultline::test

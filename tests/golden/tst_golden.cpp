// Runs every case folder of tests/golden and compares what the program says with what the case expects (see README.md).
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <vector>

#include <sqlite3.h>

namespace {

bool update_wanted = false;

QByteArray read_file(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Paths become placeholders and what differs from run to run becomes 0.
QString normalised(QString text, const QList<QPair<QString, QString>>& places) {
    for (const auto& [path, placeholder] : places) text.replace(path, placeholder);
    static const QRegularExpression seconds(QStringLiteral("\"seconds\": [0-9.e+-]+"));
    text.replace(seconds, QStringLiteral("\"seconds\": 0"));
    static const QRegularExpression stages(QStringLiteral("\"(localize|slice|encode|infer)\": [0-9.e+-]+"));
    text.replace(stages, QStringLiteral("\"\\1\": 0"));
    static const QRegularExpression written(QStringLiteral("written in [0-9.]+ s"));
    text.replace(written, QStringLiteral("written in 0 s"));
    if (!text.isEmpty() && !text.endsWith(QLatin1Char('\n'))) text += QLatin1Char('\n');
    return text;
}

QStringList arguments_of(const QString& line) {
    QStringList out;
    QString word;
    QChar quote;
    bool open = false;
    for (const QChar c : line) {
        if (!quote.isNull()) {
            if (c == quote)
                quote = QChar();
            else
                word += c;
        } else if (c == QLatin1Char('"') || c == QLatin1Char('\'')) {
            quote = c;
            open = true;
        } else if (c.isSpace()) {
            if (open) out << word;
            word.clear();
            open = false;
        } else {
            word += c;
            open = true;
        }
    }
    if (open) out << word;
    return out;
}

/// Builds NAME.sqlite in the temporary folder from each input NAME.sql. False where a statement fails.
bool build_databases(const QString& folder, const QString& temporary) {
    for (const QString& name : QDir(folder).entryList({QStringLiteral("input*.sql")}, QDir::Files)) {
        const QString path = temporary + QLatin1Char('/') + name + QLatin1String("ite");
        sqlite3* db = nullptr;
        const QByteArray sql = "PRAGMA synchronous=OFF;" + read_file(folder + QLatin1Char('/') + name);
        const bool made = sqlite3_open(path.toUtf8().constData(), &db) == SQLITE_OK &&
                          sqlite3_exec(db, sql.constData(), nullptr, nullptr, nullptr) == SQLITE_OK;
        if (!made) qWarning("%s: %s", qPrintable(name), sqlite3_errmsg(db));
        sqlite3_close(db);
        if (!made) return false;
    }
    return true;
}

/// What one call says, as it stands in `expected`.
QString run_line(const QString& line, const QString& folder, const QString& temporary) {
    const QStringList inputs = QDir(folder).entryList({QStringLiteral("input*")}, QDir::Files);
    const QString input = inputs.isEmpty() ? QString() : folder + QLatin1Char('/') + inputs.front();
    const QString capture = temporary + QStringLiteral("/case.faultline");
    const QString database = temporary + QLatin1Char('/') + QFileInfo(input).fileName() + QLatin1String("ite");
    QStringList arguments = arguments_of(line);
    QString standard_input;
    for (QString& argument : arguments)
        argument.replace(QLatin1String("{folder}"), folder)
            .replace(QLatin1String("{input}"), input)
            .replace(QLatin1String("{capture}"), capture)
            .replace(QLatin1String("{database}"), database)
            .replace(QLatin1String("{tmp}"), temporary);
    if (arguments.contains(QLatin1String("-"))) standard_input = QFile::exists(database) ? database : input;
    QProcess process;
    if (!standard_input.isEmpty()) process.setStandardInputFile(standard_input);
    process.start(QStringLiteral(FAULTLINE_PROGRAM), arguments);
    if (!process.waitForFinished(60'000)) return QStringLiteral("$ %1\ndoes not end\n").arg(line);
    const int status = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    const QList<QPair<QString, QString>> places{
        {capture, QStringLiteral("{capture}")}, {temporary, QStringLiteral("{tmp}")}, {folder, QStringLiteral("{folder}")}};
    QString text = QStringLiteral("$ %1\nexit %2\n").arg(line).arg(status);
    text += normalised(QString::fromUtf8(process.readAllStandardOutput()), places);
    const QString errors = normalised(QString::fromUtf8(process.readAllStandardError()), places);
    if (!errors.isEmpty()) text += QStringLiteral("stderr:\n") + errors;
    return text;
}

/// The first line that differs, for a message that can be read.
QString first_difference(const QString& actual, const QString& expected) {
    const QStringList a = actual.split(QLatin1Char('\n'));
    const QStringList e = expected.split(QLatin1Char('\n'));
    for (qsizetype i = 0; i < std::max(a.size(), e.size()); ++i) {
        if (a.value(i) != e.value(i))
            return QStringLiteral("line %1\n  says:     %2\n  expected: %3").arg(i + 1).arg(a.value(i), e.value(i));
    }
    return {};
}

}  // namespace

class TestGolden : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void runs_data() {
        QTest::addColumn<QString>("folder");
        const QDir cases(QStringLiteral(FAULTLINE_GOLDEN_DIR));
        for (const QString& name : cases.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name))
            QTest::newRow(qPrintable(name)) << cases.filePath(name);
    }

    void runs() {
        QFETCH(QString, folder);
        QTemporaryDir temporary;
        QVERIFY(temporary.isValid());
        QVERIFY2(build_databases(folder, temporary.path()), "an input is no SQL");
        QString actual;
        for (const QString& line :
             QString::fromUtf8(read_file(folder + QStringLiteral("/command"))).split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
            if (!line.startsWith(QLatin1Char('#'))) actual += run_line(line.trimmed(), folder, temporary.path());
        }
        QVERIFY2(!actual.isEmpty(), "the case has no command");
        const QString expected_path = folder + QStringLiteral("/expected");
        if (update_wanted) {
            QFile file(expected_path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(actual.toUtf8());
            return;
        }
        const QString difference = first_difference(actual, QString::fromUtf8(read_file(expected_path)));
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }
};

int main(int argc, char** argv) {
    std::vector<char*> arguments;
    for (int i = 0; i < argc; ++i) {
        if (QByteArray(argv[i]) == "--update")
            update_wanted = true;
        else
            arguments.push_back(argv[i]);
    }
    TestGolden test;
    return QTest::qExec(&test, static_cast<int>(arguments.size()), arguments.data());
}

#include "tst_golden.moc"

// Reading inputs: plain and gzip, several members, damage, standard input's kin (pipes), stopping.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <thread>

#include "../support/imported_trace.h"
#include "importers/source_file.h"

using namespace faultline;
using namespace faultline::test;

namespace {

struct ReadBack {
    std::string bytes;
    std::optional<SourceTrouble> trouble;
    bool ok = true;
    bool offsets_fit = true;
};

ReadBack read_all(SourceFile& file) {
    ReadBack back;
    SourceFile::Block block;
    for (;;) {
        const Result<bool> more = file.next(block);
        back.ok = more.has_value();
        if (!more || !*more) break;
        back.offsets_fit &= block.offset == back.bytes.size();
        back.bytes.append(block.data, block.size);
    }
    back.trouble = file.trouble();
    return back;
}

std::string pattern(std::size_t size) {
    std::string text;
    while (text.size() < size) text += "line " + std::to_string(text.size()) + "\n";
    return text;
}

}  // namespace

class TestSourceFile : public QObject {
    Q_OBJECT

private:
    QTemporaryDir folder_;

    std::string write(const char* name, std::string_view bytes) {
        const QString path = folder_.filePath(QString::fromLatin1(name));
        QFile file(path);
        if (file.open(QIODevice::WriteOnly)) file.write(bytes.data(), static_cast<qint64>(bytes.size()));
        return path.toStdString();
    }
    ReadBack read(const char* name, std::string_view bytes) {
        auto file = SourceFile::open(write(name, bytes));
        return file ? read_all(**file) : ReadBack{{}, {}, false, false};
    }

private Q_SLOTS:
    void reads_plain_files_in_blocks() {
        const std::string text = pattern(SourceFile::kBlockBytes * 5 + 12345);
        auto file = SourceFile::open(write("plain", text));
        QVERIFY(file.has_value());
        QCOMPARE((*file)->bytes_total(), std::uint64_t{text.size()});
        const ReadBack back = read_all(**file);
        QVERIFY(back.bytes == text);
        QVERIFY(back.offsets_fit && !back.trouble);
        QCOMPARE((*file)->bytes_read(), std::uint64_t{text.size()});
        QVERIFY(!(*file)->gzip());
    }

    void head_consumes_nothing() {
        auto file = SourceFile::open(write("head", "{\"a\": 1}"));
        QVERIFY(file.has_value());
        QCOMPARE(std::string(*(*file)->head()), std::string("{\"a\": 1}"));
        QCOMPARE(std::string(*(*file)->head()), std::string("{\"a\": 1}"));
        QCOMPARE(read_all(**file).bytes, std::string("{\"a\": 1}"));
        QCOMPARE(std::string((*file)->name()), std::string("head"));
    }

    void reads_empty_and_tiny_files() {
        QCOMPARE(read("empty", "").bytes, std::string());
        QCOMPARE(read("one", "x").bytes, std::string("x"));
        QCOMPARE(read("magic-only", "\x1f\x8b").trouble->kind, SourceTrouble::Kind::truncated);
    }

    void inflates_several_members() {
        const std::string first = pattern(3000000), second = pattern(1000000);
        const ReadBack back = read("members.gz", gzipped(first) + gzipped("") + std::string(7, '\0') + gzipped(second));
        QVERIFY(back.bytes == first + second);
        QVERIFY(back.offsets_fit && !back.trouble);
    }

    void keeps_what_a_truncated_gzip_holds() {
        const std::string text = pattern(4000000);
        const std::string packed = gzipped(text);
        const ReadBack back = read("cut.gz", std::string_view(packed).substr(0, packed.size() / 2));
        QVERIFY(back.ok && back.trouble);
        QCOMPARE(back.trouble->kind, SourceTrouble::Kind::truncated);
        QVERIFY(back.bytes.size() > 1000000 && text.starts_with(back.bytes));
        QCOMPARE(back.trouble->offset, std::uint64_t{back.bytes.size()});
    }

    void keeps_what_comes_before_damage() {
        const std::string text = pattern(4000000);
        std::string packed = gzipped(text);
        for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) packed[i] = static_cast<char>(~packed[i]);
        const ReadBack back = read("damaged.gz", packed);
        QVERIFY(back.ok && back.trouble);
        QCOMPARE(back.trouble->kind, SourceTrouble::Kind::damaged);
        QVERIFY(back.bytes.size() > 500000);
        QVERIFY(text.starts_with(back.bytes.substr(0, 500000)));
    }

    void says_that_other_bytes_follow() {
        const ReadBack back = read("trailing.gz", gzipped("text") + "rubbish");
        QCOMPARE(back.bytes, std::string("text"));
        QCOMPARE(back.trouble->kind, SourceTrouble::Kind::trailing);
    }

    void refuses_what_cannot_be_opened() {
        const auto missing = SourceFile::open(folder_.filePath(QStringLiteral("missing")).toStdString());
        QVERIFY(!missing && missing.error().code == ErrorCode::unusable_input);
        QVERIFY(missing.error().sentence.find("missing") != std::string::npos);
        QVERIFY(!SourceFile::open(folder_.path().toStdString()));
    }

    void reads_a_pipe() {
        const std::string path = folder_.filePath(QStringLiteral("pipe")).toStdString();
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
        const std::string text = pattern(1000000);
        std::jthread writer([&] {
            const int fd = ::open(path.c_str(), O_WRONLY);
            for (std::size_t at = 0; at < text.size();)
                at += static_cast<std::size_t>(::write(fd, text.data() + at, std::min<std::size_t>(7000, text.size() - at)));
            ::close(fd);
        });
        auto file = SourceFile::open(path);
        QVERIFY(file.has_value());
        QCOMPARE((*file)->bytes_total(), std::uint64_t{0});
        QVERIFY((*file)->head()->starts_with("line 0\n"));
        QVERIFY(read_all(**file).bytes == text);
    }

    /// Opening a named pipe that nobody writes to waited for ever, and no signal was heard.
    void opens_a_pipe_without_a_writer() {
        const std::string pipe = folder_.filePath(QStringLiteral("lonely")).toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        auto file = SourceFile::open(pipe);
        QVERIFY(file.has_value());
        std::stop_source stop;
        stop.request_stop();
        SourceFile::Block block;
        const Result<bool> more = (*file)->next(block, stop.get_token());
        QVERIFY(!more && more.error().code == ErrorCode::cancelled);
    }

    /// A consumer that stops, or goes away, must never wait for a writer that writes nothing.
    void stops_while_a_pipe_is_silent() {
        const std::string path = folder_.filePath(QStringLiteral("silent")).toStdString();
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
        const int writer = ::open(path.c_str(), O_RDWR);
        {
            auto file = SourceFile::open(path);
            QVERIFY(file.has_value());
            std::stop_source stop;
            std::jthread stopper([&] { stop.request_stop(); });
            SourceFile::Block block;
            const Result<bool> more = (*file)->next(block, stop.get_token());
            QVERIFY(!more && more.error().code == ErrorCode::cancelled);
        }
        ::close(writer);
    }

    void goes_away_with_a_full_queue() {
        auto file = SourceFile::open(write("large", pattern(SourceFile::kBlockBytes * 8)));
        QVERIFY(file.has_value());
        QVERIFY((*file)->head().has_value());
    }
};

QTEST_GUILESS_MAIN(TestSourceFile)
#include "tst_source_file.moc"

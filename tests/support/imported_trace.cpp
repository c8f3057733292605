#include "imported_trace.h"

#include <zlib.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include "importers/kineto/kineto_importer.h"
#include "importers/source_file.h"

namespace faultline::test {

const TrackBuffer* ImportedTrace::track(TrackKind kind) const {
    for (const TrackBuffer& t : source.tracks())
        if (t.track.kind == kind) return &t;
    return nullptr;
}

std::int64_t ImportedTrace::find(const TrackBuffer& track, std::string_view name) const {
    for (std::uint32_t i = 0; i < track.size(); ++i)
        if (names.text(track.names[i]) == name) return i;
    return -1;
}

const TrackBuffer* ImportedTrace::holder(std::string_view name) const {
    for (const TrackBuffer& t : source.tracks())
        if (find(t, name) >= 0) return &t;
    return nullptr;
}

std::uint64_t ImportedTrace::count(std::string_view code) const {
    std::uint64_t n = 0;
    for (const LedgerEntry& e : ledger.entries())
        if (e.code == code) n += e.count;
    return n;
}

std::uint64_t ImportedTrace::spans(SpanKind kind) const {
    std::uint64_t n = 0;
    for (const TrackBuffer& t : source.tracks())
        for (const SpanKind k : t.kinds) n += k == kind;
    return n;
}

std::string ImportedTrace::args(const TrackBuffer& track, std::uint32_t at) {
    texts.flush();
    const std::int64_t id = track.get(at, Column::args);
    for (const TextBlock& block : blocks) {
        if (id < block.first_id || id >= std::int64_t{block.first_id} + block.count) continue;
        const Result<std::vector<std::string>> all = unpack_texts(block);
        return all ? (*all)[static_cast<std::size_t>(id - block.first_id)] : std::string();
    }
    return {};
}

std::unique_ptr<ImportedTrace> import_trace_file(const std::string& path) {
    auto imported = std::make_unique<ImportedTrace>();
    imported->texts.sink = [&blocks = imported->blocks](TextBlock&& block) { blocks.push_back(std::move(block)); };
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(path);
    if (!file) {
        imported->result = tl::unexpected<Error>(file.error());
        return imported;
    }
    imported->result = KinetoImporter().read(**file, imported->source, imported->ledger, {});
    return imported;
}

std::unique_ptr<ImportedTrace> import_trace(std::string_view text, const std::string& file_name) {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QString::fromStdString(file_name));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return import_trace_file(path.toStdString());
    file.write(text.data(), static_cast<qint64>(text.size()));
    file.close();
    return import_trace_file(path.toStdString());
}

std::string read_inflated(const std::string& path) {
    std::string all;
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(path);
    if (!file) return all;
    SourceFile::Block block;
    for (;;) {
        const Result<bool> more = (*file)->next(block);
        if (!more || !*more) return all;
        all.append(block.data, block.size);
    }
}

std::string shared_captures() {
    const QByteArray given = qgetenv("FAULTLINE_SHARED_DATA");
    const QString folder = given.isEmpty() ? QStringLiteral(FAULTLINE_SOURCE_DIR "/../shared/data/files") : QString::fromLocal8Bit(given);
    return QDir(folder).exists() ? QDir(folder).absolutePath().toStdString() : std::string();
}

std::string gzipped(std::string_view text) {
    z_stream stream{};
    deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace faultline::test

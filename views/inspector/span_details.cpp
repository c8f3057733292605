#include "views/inspector/span_details.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <bit>
#include <cmath>

#include "views/format.h"
#include "views/palette.h"

namespace faultline {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("SpanDetails", text); }

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

/// Reads the columns of one span; a column it does not have, or that cannot be read, is absent.
class SpanColumns {
public:
    SpanColumns(const CaptureReader& reader, SpanId span) : reader_(reader), span_(span) {}
    [[nodiscard]] std::optional<std::int64_t> operator()(Column column) const {
        const auto v = reader_.value(span_, column);
        if (!v || *v == kNull) return std::nullopt;
        return *v;
    }

private:
    const CaptureReader& reader_;
    SpanId span_;
};

QString number_text(const QJsonValue& value) {
    const double d = value.toDouble();
    if (std::trunc(d) == d && std::abs(d) < 9.2e18) return QString::number(value.toInteger());
    return QString::number(d, 'g', QLocale::FloatingPointShortest);
}

QString value_text(const QJsonValue& value) {
    switch (value.type()) {
        case QJsonValue::String: return value.toString();
        case QJsonValue::Double: return number_text(value);
        case QJsonValue::Bool: return value.toBool() ? QStringLiteral("true") : QStringLiteral("false");
        case QJsonValue::Array: return QString::fromUtf8(QJsonDocument(value.toArray()).toJson(QJsonDocument::Compact));
        default: return QStringLiteral("null");
    }
}

void flatten(const QJsonObject& object, const QString& prefix, std::vector<Detail>& rows) {
    for (auto it = object.begin(); it != object.end(); ++it) {
        const QString key = prefix.isEmpty() ? it.key() : prefix + QLatin1Char('.') + it.key();
        if (it.value().isObject() && !it.value().toObject().isEmpty())
            flatten(it.value().toObject(), key, rows);
        else
            rows.push_back({key, value_text(it.value())});
    }
}

DetailGroup time_group(const LoadedCapture& capture, TimeRange time) {
    DetailGroup group{tr("Time"), {}};
    group.rows.push_back({tr("Duration"), duration_text(time.duration())});
    group.rows.push_back({tr("Exactly"), nanoseconds_text(time.duration())});
    group.rows.push_back({tr("Start"), time_text(time.start)});
    group.rows.push_back({tr("End"), time_text(time.end)});
    if (const auto zero = capture.reader->zero_wall_ns()) group.rows.push_back({tr("Wall clock"), wall_text(*zero + time.start)});
    return group;
}

void add_process(const CaptureReader& reader, const Track& track, DetailGroup& group) {
    const Process* process = track.process ? reader.process(*track.process) : nullptr;
    if (process == nullptr) return;
    QString words = process->pid_text.empty() ? QString::number(process->pid) : text(process->pid_text);
    if (!process->name.empty()) words += QStringLiteral(" · ") + text(process->name);
    group.rows.push_back({tr("Process"), words});
    if (process->rank) group.rows.push_back({tr("Rank"), QString::number(*process->rank)});
}

DetailGroup place_group(const CaptureReader& reader, const Track& track) {
    DetailGroup group{tr("Place"), {}};
    add_process(reader, track, group);
    const Thread* thread = track.thread ? reader.thread(*track.thread) : nullptr;
    if (thread != nullptr) {
        QString words = thread->tid_text.empty() ? QString::number(thread->tid) : text(thread->tid_text);
        if (!thread->name.empty()) words += QStringLiteral(" · ") + text(thread->name);
        group.rows.push_back({tr("Thread"), words});
    }
    if (const Device* device = track.device ? reader.device(*track.device) : nullptr) {
        QString words = QString::number(device->ordinal);
        if (!device->name.empty()) words += QStringLiteral(" · ") + text(device->name);
        group.rows.push_back({tr("Device"), words});
    }
    if (track.stream) group.rows.push_back({tr("Stream"), QString::number(*track.stream)});
    if (track.lane > 0) group.rows.push_back({tr("Sub-lane"), tr("%1, since it overlaps its neighbour").arg(track.lane)});
    if (const Source* source = reader.source(track.source))
        group.rows.push_back({tr("Source"), text(source->path).section(QLatin1Char('/'), -1), {}, text(source->path)});
    return group;
}

/// A row that leads to another span: its name, and where it starts.
Detail link_row(const CaptureReader& reader, const QString& label, SpanId span) {
    const auto name = reader.value(span, Column::name);
    const QString words = name && *name != kNull ? text(reader.name(NameId{static_cast<std::uint32_t>(*name)})) : QString();
    return {label, words, span};
}

DetailGroup links_group(const CaptureReader& reader, SpanId span, SpanKind kind, const Track& track, const SpanColumns& column) {
    DetailGroup group{tr("Chain"), {}};
    if (const auto step = column(Column::step)) group.rows.push_back({tr("Step"), QString::number(*step)});
    if (const auto correlation = column(Column::correlation)) group.rows.push_back({tr("Correlation"), QString::number(*correlation)});
    if (const auto launch = column(Column::launch))
        group.rows.push_back(link_row(reader, tr("Launched by"), SpanId{*launch}));
    else if (is_device_work(kind))
        group.rows.push_back({tr("Launched by"), tr("unknown: the capture holds no launch for it")});
    if (const auto n = column(Column::graph_launch)) group.rows.push_back({tr("Device spans launched"), count_text(*n)});
    if (const auto parent = column(Column::parent); parent && *parent >= 0)
        group.rows.push_back(link_row(reader, tr("Inside"), SpanId::make(track.id, static_cast<std::uint64_t>(*parent))));
    if (const auto forward = column(Column::link)) group.rows.push_back(link_row(reader, tr("Forward operator"), SpanId{*forward}));
    if (const auto external = column(Column::external_id)) group.rows.push_back({tr("External id"), QString::number(*external)});
    group.rows.push_back({tr("Span id"), QString::number(span.value)});
    return group;
}

void add_count(DetailGroup& group, const SpanColumns& column, Column c, const QString& label) {
    if (const auto v = column(c)) group.rows.push_back({label, count_text(*v)});
}
void add_bytes(DetailGroup& group, const SpanColumns& column, Column c, const QString& label) {
    if (const auto v = column(c))
        group.rows.push_back({label, bytes_text(*v) + QStringLiteral("  (") + count_text(*v) + QStringLiteral(" B)")});
}

DetailGroup numbers_group(const SpanColumns& column) {
    DetailGroup group{tr("Numbers"), {}};
    add_bytes(group, column, Column::bytes, tr("Bytes"));
    if (const auto v = column(Column::bandwidth))
        group.rows.push_back({tr("Bandwidth"), QLocale().toString(std::bit_cast<double>(*v), 'f', 2) + QStringLiteral(" GB/s")});
    if (const auto v = column(Column::value)) group.rows.push_back({tr("Value"), QLocale().toString(std::bit_cast<double>(*v), 'g', 12)});
    add_count(group, column, Column::group_size, tr("Ranks in the collective"));
    add_bytes(group, column, Column::comm_bytes, tr("Message size"));
    add_count(group, column, Column::comm_sequence, tr("Collective number"));
    add_bytes(group, column, Column::total_allocated, tr("Allocated in total"));
    add_bytes(group, column, Column::total_reserved, tr("Reserved in total"));
    if (const auto v = column(Column::address))
        group.rows.push_back({tr("Address"), QStringLiteral("0x") + QString::number(static_cast<quint64>(*v), 16)});
    if (const auto v = column(Column::queued)) group.rows.push_back({tr("Queued"), duration_text(*v)});
    for (const auto& [c, label] : std::initializer_list<std::pair<Column, QString>>{{Column::graph_id, tr("Graph")},
                                                                                    {Column::graph_node, tr("Graph node")},
                                                                                    {Column::context, tr("Context")},
                                                                                    {Column::priority, tr("Stream priority")},
                                                                                    {Column::result, tr("Return code")},
                                                                                    {Column::callback_id, tr("Callback id")},
                                                                                    {Column::sequence, tr("Sequence number")},
                                                                                    {Column::forward_thread, tr("Forward thread")},
                                                                                    {Column::record_function, tr("Record function id")},
                                                                                    {Column::python_id, tr("Python id")},
                                                                                    {Column::python_parent, tr("Python parent id")},
                                                                                    {Column::python_module, tr("Python module id")},
                                                                                    {Column::event_index, tr("Event index")}})
        if (const auto v = column(c)) group.rows.push_back({label, QString::number(*v)});
    return group;
}

DetailGroup repairs_group(const SpanColumns& column) {
    DetailGroup group{tr("Repaired while importing"), {}};
    const auto flags = static_cast<std::uint32_t>(column(Column::flags).value_or(0));
    const std::initializer_list<std::pair<SpanFlag, QString>> words{
        {flag_clipped, tr("crossed its neighbour and was shortened")},
        {flag_unfinished, tr("never ended; closed where its surroundings end")},
        {flag_negative, tr("had a negative duration; kept with length 0")},
        {flag_no_duration, tr("had no duration; kept with length 0")},
        {flag_no_time, tr("its times were not collected")},
        {flag_renamed, tr("its name held bytes that are no UTF-8")},
        {flag_margin_undone, tr("the margins of 1 ns around it were taken off")}};
    for (const auto& [flag, sentence] : words)
        if ((flags & flag) != 0) group.rows.push_back({tr("Repair"), sentence});
    return group;
}

}  // namespace

std::vector<Detail> json_rows(const QByteArray& json) {
    std::vector<Detail> rows;
    if (json.isEmpty()) return rows;
    const QJsonDocument document = QJsonDocument::fromJson(json);
    if (document.isObject())
        flatten(document.object(), {}, rows);
    else
        rows.push_back({tr("as it stands"), QString::fromUtf8(json)});
    return rows;
}

QString place_text(const CaptureReader& reader, const Track& track) {
    if (const Device* device = track.device ? reader.device(*track.device) : nullptr) {
        const QString words = tr("GPU %1").arg(device->ordinal);
        return track.stream ? words + QStringLiteral(" · ") + tr("stream %1").arg(*track.stream) : words;
    }
    if (const Thread* thread = track.thread ? reader.thread(*track.thread) : nullptr) {
        const QString words = thread->tid_text.empty() ? tr("thread %1").arg(thread->tid) : text(thread->tid_text);
        if (text(thread->name).contains(QString::number(thread->tid))) return text(thread->name);  // "thread 8013 (python3)"
        return thread->name.empty() ? words : words + QStringLiteral(" (") + text(thread->name) + QLatin1Char(')');
    }
    return text(track.name);
}

std::optional<SpanDetails> read_span_details(const LoadedCapture& capture, SpanId span) {
    if (!capture.reader) return std::nullopt;
    const CaptureReader& reader = *capture.reader;
    const Track* track = span.valid() ? reader.track(span.track()) : nullptr;
    if (track == nullptr || span.ordinal() >= track->spans) return std::nullopt;
    const SpanColumns column(reader, span);
    const auto start = column(Column::start);
    const auto duration = column(Column::duration);
    const auto name = column(Column::name);
    if (!start || !duration || !name) return std::nullopt;

    SpanDetails details;
    details.name = text(reader.name(NameId{static_cast<std::uint32_t>(*name)}));
    details.kind = static_cast<SpanKind>(column(Column::kind).value_or(static_cast<std::int64_t>(SpanKind::other)));
    details.collective = (column(Column::flags).value_or(0) & flag_collective) != 0;
    details.groups.push_back(time_group(capture, {*start, *start + *duration}));
    details.groups.push_back(place_group(reader, *track));
    details.groups.push_back(links_group(reader, span, details.kind, *track, column));
    details.groups.push_back(numbers_group(column));
    if (const auto args = column(Column::args))
        if (const auto json = reader.args(TextId{static_cast<std::uint32_t>(*args)}))
            details.groups.push_back({tr("Arguments"), json_rows(QByteArray::fromStdString(*json))});
    details.groups.push_back(repairs_group(column));
    std::erase_if(details.groups, [](const DetailGroup& g) { return g.rows.empty(); });
    return details;
}

}  // namespace faultline

#include "core/span_table_columns.h"

#include <array>

namespace faultline {

namespace {

constexpr SpanColumn computed(std::string_view name, std::string_view type, SpanField field, bool hidden = false) {
    return {name, type, field, Column::start, hidden};
}

constexpr SpanColumn stored(std::string_view name, Column column, bool hidden = false) {
    return {name, is_real(column) ? "REAL" : "INTEGER", SpanField::stored, column, hidden};
}

constexpr std::array kColumns = {
    computed("id", "INTEGER", SpanField::id),
    computed("start_ns", "INTEGER", SpanField::start),
    computed("end_ns", "INTEGER", SpanField::end),
    computed("duration_ns", "INTEGER", SpanField::duration),
    computed("name", "TEXT", SpanField::name),
    computed("kind", "TEXT", SpanField::kind),
    computed("source", "INTEGER", SpanField::source),
    computed("process", "TEXT", SpanField::process),
    computed("thread", "TEXT", SpanField::thread),
    computed("rank", "INTEGER", SpanField::rank),
    computed("device", "INTEGER", SpanField::device),
    computed("stream", "INTEGER", SpanField::stream),
    computed("track", "INTEGER", SpanField::track),
    computed("lane", "INTEGER", SpanField::lane),
    stored("depth", Column::depth),
    computed("parent", "INTEGER", SpanField::parent),
    stored("step", Column::step),
    stored("correlation", Column::correlation),
    stored("launch", Column::launch),
    stored("name_id", Column::name),
    stored("flags", Column::flags),
    computed("args", "TEXT", SpanField::args),
    stored("external_id", Column::external_id),
    stored("bytes", Column::bytes),
    computed("pid", "INTEGER", SpanField::pid),
    computed("tid", "INTEGER", SpanField::tid),
    computed("process_id", "INTEGER", SpanField::process_id, true),
    computed("thread_id", "INTEGER", SpanField::thread_id, true),
    computed("collective", "INTEGER", SpanField::collective, true),
    computed("gap_ns", "INTEGER", SpanField::gap, true),
    computed("family", "TEXT", SpanField::family, true),
    stored("record_function", Column::record_function, true),
    stored("sequence", Column::sequence, true),
    stored("forward_thread", Column::forward_thread, true),
    stored("event_index", Column::event_index, true),
    stored("python_id", Column::python_id, true),
    stored("python_parent", Column::python_parent, true),
    stored("python_module", Column::python_module, true),
    stored("link", Column::link, true),
    stored("value", Column::value, true),
    stored("bandwidth", Column::bandwidth, true),
    stored("address", Column::address, true),
    stored("total_allocated", Column::total_allocated, true),
    stored("total_reserved", Column::total_reserved, true),
    stored("graph_id", Column::graph_id, true),
    stored("graph_node", Column::graph_node, true),
    stored("context", Column::context, true),
    stored("group_size", Column::group_size, true),
    stored("comm_bytes", Column::comm_bytes, true),
    stored("comm_sequence", Column::comm_sequence, true),
    stored("result", Column::result, true),
    stored("callback_id", Column::callback_id, true),
    stored("queued", Column::queued, true),
    stored("priority", Column::priority, true),
    stored("graph_launch", Column::graph_launch, true),
    stored("device_delay_ns", Column::device_delay, true),
    stored("device_duration_ns", Column::device_duration, true),
    stored("device_busy_ns", Column::device_busy, true),
    stored("device_count", Column::device_count, true),
    stored("mangled_name_id", Column::mangled_name, true),
    stored("event_id", Column::event_id, true),
    stored("sync_type", Column::sync_type, true),
    stored("category", Column::category, true),
    stored("domain_id", Column::domain, true),
    stored("payload", Column::payload, true),
    stored("cpu", Column::cpu, true),
};

}  // namespace

std::span<const SpanColumn> span_columns() noexcept { return kColumns; }

std::string span_table_declaration() {
    std::string text = "CREATE TABLE span (";
    for (const SpanColumn& column : kColumns) {
        if (text.back() != '(') text += ", ";
        text += '"';
        text += column.name;
        text += "\" ";
        text += column.type;
        if (column.hidden) text += " HIDDEN";
    }
    return text + ")";
}

}  // namespace faultline

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/query.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct QueryOptions {
    std::string capture, sql;
    std::string format = "table";
};

/// Where the rows of a query go, one after the other.
class RowWriter {
public:
    explicit RowWriter(const CommandIo& io) : io_(io) {}
    virtual ~RowWriter() = default;
    virtual void columns(const std::vector<std::string>& names) = 0;
    virtual void row(const std::vector<SqlValue>& values) = 0;
    virtual void end() {}

protected:
    void write(std::string_view text) { print(io_, text); }

private:
    const CommandIo& io_;
};

/// Shortest text that reads back as the same number; always with a point or an exponent, so that it is seen to be real.
std::string real_text(double value) {
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string text_of(const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return {};
}

/// An array of objects. Columns of equal names are told apart, since an object holds a name once.
class JsonRows : public RowWriter {
public:
    using RowWriter::RowWriter;
    void columns(const std::vector<std::string>& names) override {
        std::set<std::string> taken;
        for (const std::string& name : names) {
            std::string unique = name;
            for (int n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}_{}", name, n);
            names_.push_back(unique);
        }
        write("[");
    }
    void row(const std::vector<SqlValue>& values) override {
        Json object = Json::object();
        for (std::size_t i = 0; i < values.size(); ++i) object[names_[i]] = json_of_value(values[i]);
        write(any_ ? ",\n " : "\n ");
        write(object.dump(-1, ' ', false, Json::error_handler_t::replace));
        any_ = true;
    }
    void end() override { write(any_ ? "\n]\n" : "]\n"); }

private:
    static Json json_of_value(const SqlValue& value) {
        if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
        if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real) ? Json(*real) : Json(nullptr);
        if (const auto* text = std::get_if<std::string>(&value)) return *text;
        return nullptr;
    }
    std::vector<std::string> names_;
    bool any_ = false;
};

/// RFC 4180: quotes where needed, a header line. A NULL is empty, an empty text is "".
class CsvRows : public RowWriter {
public:
    using RowWriter::RowWriter;
    void columns(const std::vector<std::string>& names) override {
        for (std::size_t i = 0; i < names.size(); ++i) write((i ? "," : "") + quoted(names[i]));
        write("\n");
    }
    void row(const std::vector<SqlValue>& values) override {
        std::string line;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i) line += ',';
            line += std::holds_alternative<std::string>(values[i]) ? quoted(std::get<std::string>(values[i])) : text_of(values[i]);
        }
        write(line + "\n");
    }

private:
    static std::string quoted(const std::string& text) {
        if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
        std::string out = "\"";
        for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
        return out + "\"";
    }
};

/// Columns aligned by the first rows; later rows that are wider push their line out, so that any number of rows streams through.
class TableRows : public RowWriter {
public:
    using RowWriter::RowWriter;
    void columns(const std::vector<std::string>& names) override { pending_.push_back(names); }
    void row(const std::vector<SqlValue>& values) override {
        texts_seen_.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) texts_seen_[i] = texts_seen_[i] || std::holds_alternative<std::string>(values[i]);
        std::vector<std::string> texts;
        for (const SqlValue& value : values)
            texts.push_back(std::holds_alternative<std::monostate>(value) ? "NULL" : text_of(value));
        pending_.push_back(std::move(texts));
        if (pending_.size() >= kRowsAligned) flush();
    }
    void end() override { flush(); }

private:
    static constexpr std::size_t kRowsAligned = 1000;

    void flush() {
        std::vector<bool> right(texts_seen_);
        right.flip();
        write(aligned_table(pending_, right));
        pending_.clear();
    }
    std::vector<std::vector<std::string>> pending_;
    std::vector<bool> texts_seen_;  ///< by column; numbers alone stand to the right
};

std::unique_ptr<RowWriter> make_writer(const std::string& format, const CommandIo& io) {
    if (format == "json") return std::make_unique<JsonRows>(io);
    if (format == "csv") return std::make_unique<CsvRows>(io);
    return std::make_unique<TableRows>(io);
}

int run(const QueryOptions& options, const CommandIo& io) {
    const auto capture = open_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const std::unique_ptr<RowWriter> writer = make_writer(options.format, io);
    const auto done = run_query(
        **capture, options.sql, [&](const std::vector<std::string>& names) { writer->columns(names); },
        [&](const std::vector<SqlValue>& values) {
            writer->row(values);
            return std::ferror(io.out) == 0;
        },
        io.stop);
    if (!done) return report_failure(io, done.error());
    writer->end();
    return finish_output(io);
}

}  // namespace

void add_query_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand(
        "query", "Read-only SQL over a capture: table span and the views kernels, api_calls, ranges, ops, steps and others");
    const auto options = std::make_shared<QueryOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("SQL", options->sql, "One SELECT statement")->required();
    command->add_option("--format", options->format, "How the rows are written")
        ->check(CLI::IsMember({"table", "csv", "json"}))
        ->capture_default_str();
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run(*options, io); }; });
}

}  // namespace faultline

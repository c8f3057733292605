#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/command.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct LedgerOptions {
    std::string capture;
    bool json = false;
};

Json ledger_json(const CaptureReader& capture, const std::vector<SourceLedger>& ledgers) {
    Json sources = Json::array();
    for (const SourceLedger& ledger : ledgers) {
        Json entries = Json::array();
        for (const LedgerEntry& entry : ledger.entries)
            entries.push_back(Json{{"outcome", outcome_name(entry.outcome)},
                                   {"code", entry.code},
                                   {"sentence", entry.sentence},
                                   {"count", entry.count},
                                   {"samples", entry.samples}});
        const Source* const source = capture.source(ledger.source);
        sources.push_back(Json{{"source", index_of(ledger.source)},
                               {"path", source ? Json(source->path) : Json(nullptr)},
                               {"totals", json_of(ledger.totals)},
                               {"entries", entries}});
    }
    return {{"capture", capture.path()}, {"sources", sources}};
}

void describe(const CommandIo& io, const CaptureReader& capture, const std::vector<SourceLedger>& ledgers) {
    for (const SourceLedger& ledger : ledgers) {
        const Source* const source = capture.source(ledger.source);
        print_text(io, fmt::format("{}\n  {} records read ({} of them repaired), {} dropped, {} that only name things\n",
                              source ? source->path : "unknown source", grouped(ledger.totals.read), grouped(ledger.totals.repaired),
                              grouped(ledger.totals.dropped), grouped(ledger.totals.metadata)));
        for (const LedgerEntry& entry : ledger.entries) {
            print_text(io,
                  fmt::format("  {:>8}  {} x {} [{}]\n", outcome_name(entry.outcome), grouped(entry.count), entry.sentence, entry.code));
            for (const std::string& sample : entry.samples) print_text(io, fmt::format("            at {}\n", sample));
            if (!entry.samples.empty() && entry.samples.size() < entry.count)
                print_text(io, fmt::format("            and {} more places\n", grouped(entry.count - entry.samples.size())));
        }
    }
}

int run_ledger(const LedgerOptions& options, const CommandIo& io) {
    const auto capture = CaptureReader::open(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto ledgers = (*capture)->ledger();
    if (!ledgers) return report_failure(io, ledgers.error());
    if (options.json)
        print_json(io, ledger_json(**capture, *ledgers));
    else
        describe(io, **capture, *ledgers);
    return finish_output(io);
}

}  // namespace

void add_ledger_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command =
        program.add_subcommand("ledger", "Every kind of repair and drop of an import, with counts, reasons and places");
    const auto options = std::make_shared<LedgerOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_ledger(*options, io); }; });
}

}  // namespace faultline

// Reads logs of serving engines and of what they run on: vLLM, SGLang, uvicorn, torch, torchrun, NCCL, the kernel, containers, journals.
//
//     (EngineCore_DP0 pid=410) INFO 07-30 17:42:47 [core.py:58] Engine is up
//     [2026-08-23 09:05:37 TP0 EP0] Decode batch, #running-req: 14, #token: 7852, token usage: 0.27
//     [rank0]:[E820 11:47:24.069865760 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout
//
// One record of the ledger is one message; blank lines are none. Memory: the messages themselves. See log_parser.h for what a message is
// and log_clock.h for its time. As an importer it keeps no state; any thread.
#pragma once

#include "importers/importer.h"

namespace faultline {

class ServiceLogImporter final : public Importer {
public:
    [[nodiscard]] ImporterInfo info() const override;
    [[nodiscard]] Confidence sniff(std::string_view head, std::string_view name) const override;
    [[nodiscard]] Result<void> read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const override;
};

}  // namespace faultline

#include "importers/registry.h"

#include "importers/kineto/kineto_importer.h"
#include "importers/known_formats.h"
#include "importers/nsys/nsys_importer.h"
#include "importers/pyspy/dump_series_importer.h"
#include "importers/service_log/service_log_importer.h"

namespace faultline {

std::span<const Importer* const> importers() noexcept {
    static const KinetoImporter kineto;
    static const NsysImporter nsys;
    static const DumpSeriesImporter dumps;
    static const Importer* const all[] = {&kineto, &nsys, &dumps, &service_log_importer()};
    return all;
}

const Importer& service_log_importer() noexcept {
    static const ServiceLogImporter service_log;
    return service_log;
}

Result<const Importer*> choose_importer(std::string_view head, std::string_view name, std::string_view path) {
    // Formats that look alike from the outside (JSON, SQLite) are told apart before anyone tries to read them.
    if (std::optional<Error> other = other_format(head, name, path)) return tl::unexpected<Error>(std::move(*other));
    const Importer* best = nullptr;
    Confidence most = 0;
    for (const Importer* importer : importers())
        if (const Confidence sure = importer->sniff(head, name); sure > most) {
            most = sure;
            best = importer;
        }
    if (best != nullptr) return best;
    return tl::unexpected<Error>(unknown_format(head, path));
}

}  // namespace faultline

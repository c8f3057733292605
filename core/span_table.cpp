#include "core/span_table.h"

#include <fmt/format.h>

#include <memory>

#include "core/capture_reader.h"
#include "core/span_table_module.h"

namespace faultline {

Result<void> register_span_table(sqlite3* connection, const CaptureReader& reader) {
    // The reader owns the connection and so outlives the module: shared without ownership.
    const std::shared_ptr<const CaptureReader> unowned(std::shared_ptr<void>{}, &reader);
    if (const std::string words = linked::create_span_table(connection, unowned); !words.empty())
        return fail(ErrorCode::unusable_input, fmt::format("the tables of the capture cannot be prepared ({})", words),
                    "Import its sources again with this version");
    return {};
}

}  // namespace faultline

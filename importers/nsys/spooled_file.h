// The bytes of an input as a file that a database library can open: the input itself, or a private copy of standard input or gzip.
#pragma once

#include <string>

#include "core/progress.h"
#include "core/result.h"
#include "importers/source_file.h"

namespace faultline::nsys {

class SpooledFile {
public:
    /// A plain file stays where it is. Anything else is written to a new file that only this user can read (in $TMPDIR or /tmp), which is
    /// removed with this object. Fails where it cannot be written, and when stopped.
    [[nodiscard]] static Result<SpooledFile> of(SourceFile& file, const Progress& progress);
    SpooledFile(SpooledFile&& other) noexcept;
    SpooledFile& operator=(SpooledFile&&) = delete;
    ~SpooledFile();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    SpooledFile(std::string path, bool remove) : path_(std::move(path)), remove_(remove) {}
    std::string path_;
    bool remove_ = false;
};

}  // namespace faultline::nsys

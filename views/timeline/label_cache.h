// Texts as coverage masks, rendered once: painting a label is then a copy of pixels, cut at a whole character.
//
// GUI thread. Holds at most a few tens of megabytes: when that is passed, everything is forgotten and made again as needed.
#pragma once

#include <QFont>
#include <QHash>
#include <QImage>
#include <QString>
#include <memory>
#include <vector>

#include "views/timeline/raster.h"

namespace faultline {

struct Label {
    QImage mask;                ///< one byte a pixel
    std::vector<int> advances;  ///< pixels after 1, 2, … characters
    [[nodiscard]] int width() const noexcept { return advances.empty() ? 0 : advances.back(); }
};

class LabelCache {
public:
    /// `font` in device pixels; another font forgets everything.
    void set_font(const QFont& font);
    [[nodiscard]] const QFont& font() const noexcept { return font_; }
    [[nodiscard]] qsizetype size() const noexcept { return labels_.size(); }
    [[nodiscard]] int height() const noexcept { return height_; }
    [[nodiscard]] std::shared_ptr<const Label> label(const QString& text);
    /// Writes the text from `x`, cut with an ellipsis where it is wider than `width`; nothing where not even three characters fit.
    /// Returns the pixels used.
    int draw(const Canvas& canvas, int x, int y, int width, const QString& text, QRgb colour);

private:
    [[nodiscard]] Label render(const QString& text) const;

    QFont asked_;  ///< before the style strategy was changed
    QFont font_;
    int height_ = 0;
    Label ellipsis_;
    std::size_t bytes_ = 0;
    QHash<QString, std::shared_ptr<const Label>> labels_;
};

}  // namespace faultline

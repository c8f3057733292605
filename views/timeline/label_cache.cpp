#include "views/timeline/label_cache.h"

#include <QFontMetrics>
#include <QGlyphRun>
#include <QPainter>
#include <QTextLayout>
#include <QTextOption>
#include <algorithm>
#include <cmath>

namespace faultline {

namespace {

constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr int kMostCharacters = 160;  // wider than a screen at any readable size

}  // namespace

void LabelCache::set_font(const QFont& font) {
    if (height_ > 0 && font == asked_) return;
    asked_ = font;
    font_ = font;
    font_.setStyleStrategy(QFont::StyleStrategy(QFont::PreferAntialias | QFont::NoSubpixelAntialias));
    height_ = QFontMetrics(font_).height();
    labels_.clear();
    bytes_ = 0;
    ellipsis_ = render(QStringLiteral("…"));
}

std::shared_ptr<const Label> LabelCache::label(const QString& text) {
    const auto known = labels_.constFind(text);
    if (known != labels_.constEnd()) return *known;
    if (bytes_ > kMostBytes) {
        labels_.clear();
        bytes_ = 0;
    }
    auto made = std::make_shared<const Label>(render(text));
    bytes_ += static_cast<std::size_t>(made->mask.sizeInBytes()) + 512;
    return *labels_.insert(text, std::move(made));
}

Label LabelCache::render(const QString& text) const {
    Label label;
    QString shown = text.left(kMostCharacters);
    // Line breaks and other controls of a name would make a second line or a missing-glyph box.
    for (QChar& c : shown) {
        if (c.category() == QChar::Other_Control || c == QChar::LineSeparator || c == QChar::ParagraphSeparator) c = QLatin1Char(' ');
    }
    QTextLayout layout(shown, font_);
    QTextOption option(Qt::AlignLeft);
    option.setWrapMode(QTextOption::NoWrap);
    layout.setTextOption(option);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) line.setLineWidth(1e6);
    layout.endLayout();
    if (!line.isValid() || shown.isEmpty()) return label;
    label.advances.reserve(static_cast<std::size_t>(shown.size()));
    // Where every character has its own glyph their places are the advances; else (ligatures, complex scripts) the layout is asked, which
    // costs a walk for each character.
    const QList<QGlyphRun> runs = line.glyphRuns();
    const QList<QPointF> places = runs.size() == 1 ? runs.front().positions() : QList<QPointF>();
    const bool simple = places.size() == shown.size() && !shown.isRightToLeft();
    int widest = 0;
    for (qsizetype i = 1; simple && i <= shown.size(); ++i) {
        const double right = i < shown.size() ? places[i].x() : line.naturalTextWidth();
        widest = std::max(widest, static_cast<int>(std::ceil(right)));
        label.advances.push_back(widest);
    }
    for (int i = 1; !simple && i <= shown.size(); ++i) {
        widest = std::max(widest, static_cast<int>(std::ceil(line.cursorToX(i))));
        label.advances.push_back(widest);
    }
    const int width = std::max(1, static_cast<int>(std::ceil(line.naturalTextWidth())) + 1);
    QImage picture(width, height_, QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setPen(Qt::white);
    layout.draw(&painter, QPointF(0, std::max(0.0, (height_ - line.height()) / 2)));
    painter.end();
    label.mask = picture.convertToFormat(QImage::Format_Alpha8);
    return label;
}

int LabelCache::draw(const Canvas& canvas, int x, int y, int width, const QString& text, QRgb colour) {
    const std::shared_ptr<const Label> whole = label(text);
    if (whole->advances.empty()) return 0;
    if (whole->width() <= width && text.size() <= kMostCharacters) {
        blit_mask(canvas, x, y, whole->mask, whole->mask.width(), colour);
        return whole->width();
    }
    const auto fits = std::upper_bound(whole->advances.begin(), whole->advances.end(), width - ellipsis_.width()) - whole->advances.begin();
    if (fits < 3) return 0;
    const int used = whole->advances[static_cast<std::size_t>(fits - 1)];
    blit_mask(canvas, x, y, whole->mask, used, colour);
    blit_mask(canvas, x + used, y, ellipsis_.mask, ellipsis_.mask.width(), colour);
    return used + ellipsis_.width();
}

}  // namespace faultline

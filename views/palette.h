// Every colour of the window: the two themes as Qt palettes, the style sheet of the chrome, and the colours of spans by kind.
//
// Core sends meaning (a SpanKind), this file chooses the colour and the word for it. The colours of kinds follow a set that is told
// apart under the usual colour-vision deficiencies, and no meaning is carried by them alone: views show the word as well.
// Dark is derived from the palette in use (the Qt 6.4 API has no colour-scheme hint), so a widget listens to PaletteChange only.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

#include "core/layer_rules.h"
#include "core/model.h"

class QApplication;

namespace faultline {

enum class Theme { system, light, dark };

[[nodiscard]] bool is_dark(const QPalette& palette);
[[nodiscard]] QPalette theme_palette(bool dark);
/// Points added to the text size that the platform gave at start. Kept with the application; fonts of widgets follow.
void apply_text_size(QApplication& application, int change);
/// Fusion with our palette and style sheet. `system` follows the palette the platform gave at start.
void apply_theme(QApplication& application, Theme theme);

/// Fill of a span. `collective` (flag_collective) has a colour of its own whatever the kind.
[[nodiscard]] QColor kind_colour(SpanKind kind, bool collective, bool dark);
/// Black or white, whichever reads better on `fill`.
[[nodiscard]] QColor text_on(const QColor& fill);

/// Colours that a QPalette has no role for.
struct Chrome {
    QColor border;        ///< hairlines between areas
    QColor muted;         ///< secondary text; 4.5:1 on base and window
    QColor accent;        ///< links, focus, the chosen step
    QColor warning;       ///< text and marks of warnings
    QColor warning_fill;  ///< banner behind them
    QColor error;
    QColor error_fill;
    QColor info;
    QColor info_fill;
    QColor grid;      ///< lines of the time grid
    QColor lane;      ///< background of every other lane
    QColor group;     ///< background of a process or layer heading
    QColor lit;       ///< outline of the spans of a lit chain
    QColor selected;  ///< outline of the selected span
};
[[nodiscard]] const Chrome& chrome(bool dark);

/// Words for a person.
[[nodiscard]] QString kind_text(SpanKind kind);
[[nodiscard]] QString phase_text(StepPhase phase);
[[nodiscard]] QString layer_text(LayerClass layer, SpanKind kind);

}  // namespace faultline

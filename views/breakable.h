// Long names without spaces, made so that a label can wrap them.
#pragma once

#include <QString>

namespace faultline {

/// The text with an invisible place to break after each of "_ ( ) , : / < >" but the last character.
[[nodiscard]] inline QString breakable(const QString& text) {
    static const QString kPlaces = QStringLiteral("_(),:/<>");
    QString out;
    out.reserve(text.size() * 5 / 4);
    for (qsizetype i = 0; i < text.size(); ++i) {
        out += text[i];
        if (i + 1 < text.size() && kPlaces.contains(text[i])) out += QChar(0x200b);
    }
    return out;
}

}  // namespace faultline

#include "views/icon.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

// Outside every namespace, as the macro demands; a static library's resources are not registered by themselves.
static void register_resources() { Q_INIT_RESOURCE(faultline); }

namespace faultline {

namespace {

QByteArray read_icon(const QString& name) {
    register_resources();
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QPixmap paint(QSvgRenderer& svg, int size) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    svg.render(&painter);
    return pixmap;
}

void add_drawing(QIcon& icon, QByteArray svg, const QColor& colour, QIcon::Mode mode) {
    // Qt's SVG reader has no "currentColor".
    svg.replace("currentColor", colour.name().toLatin1());
    QSvgRenderer renderer(svg);
    if (!renderer.isValid()) return;
    for (const int size : {16, 20, 24, 32, 48}) icon.addPixmap(paint(renderer, size), mode);
}

}  // namespace

QIcon themed_icon(const QString& name, const QPalette& palette) {
    QIcon icon;
    const QByteArray svg = read_icon(name);
    if (svg.isEmpty()) return icon;
    add_drawing(icon, svg, palette.color(QPalette::Active, QPalette::WindowText), QIcon::Normal);
    add_drawing(icon, svg, palette.color(QPalette::Disabled, QPalette::WindowText), QIcon::Disabled);
    return icon;
}

QIcon program_icon() {
    QIcon icon;
    QSvgRenderer renderer(read_icon(QStringLiteral("faultline")));
    if (!renderer.isValid()) return icon;
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) icon.addPixmap(paint(renderer, size));
    return icon;
}

}  // namespace faultline

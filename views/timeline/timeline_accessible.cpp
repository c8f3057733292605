#include "views/timeline/timeline_accessible.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <vector>

#include "views/timeline/timeline_widget.h"

namespace faultline {

namespace {

/// Row numbers in sight, top to bottom.
std::pair<int, int> rows_in_sight(const TimelineWidget& widget) {
    const TimelineView view = widget.view();
    return widget.row_layout().visible(view.scroll, view.scroll + view.height);
}

std::optional<SpanPlace> selected_place(const TimelineWidget& widget) {
    const LoadedCapture* capture = widget.session().capture();
    if (capture == nullptr || !capture->index || !widget.session().selected_span()) return std::nullopt;
    return capture->index->place(*widget.session().selected_span());
}

/// One row in sight (`row` is its number) or the selected span (`row` is -1).
class TimelineItem : public QAccessibleInterface {
public:
    TimelineItem(TimelineWidget* widget, int row) : widget_(widget), row_(row) {}

    [[nodiscard]] bool isValid() const override {
        return widget_ != nullptr && (row_ < 0 ? selected_place(*widget_).has_value() : row() != nullptr);
    }
    [[nodiscard]] QObject* object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(widget_); }
    [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    [[nodiscard]] QAccessible::Role role() const override { return row_ < 0 ? QAccessible::ListItem : QAccessible::Row; }
    void setText(QAccessible::Text, const QString&) override {}

    [[nodiscard]] QString text(QAccessible::Text which) const override {
        if (which != QAccessible::Name || !isValid()) return {};
        if (row_ >= 0) return widget_->row_text(*row());
        return widget_->span_text(*selected_place(*widget_));
    }
    [[nodiscard]] QRect rect() const override {
        if (!isValid()) return {};
        QRect area;
        if (row_ < 0) {
            area = widget_->span_rect(selected_place(*widget_)->id());
        } else {
            area = QRect(0, row()->top - widget_->view().scroll, widget_->viewport()->width(), row()->height);
        }
        return area.isNull() ? QRect() : QRect(widget_->viewport()->mapToGlobal(area.topLeft()), area.size());
    }
    [[nodiscard]] QAccessible::State state() const override {
        QAccessible::State state;
        state.focusable = true;
        state.selectable = row_ < 0;
        state.selected = row_ < 0;
        state.focused = widget_ != nullptr && widget_->hasFocus() && (row_ < 0 || row_ == widget_->current_row());
        if (row_ >= 0 && row() != nullptr && row()->toggles()) {
            state.expandable = true;
            state.expanded = !row()->folded;
            state.collapsed = row()->folded;
        }
        return state;
    }
    [[nodiscard]] int row_number() const noexcept { return row_; }

private:
    [[nodiscard]] const Row* row() const {
        const auto& rows = widget_->row_layout().rows();
        return row_ >= 0 && static_cast<std::size_t>(row_) < rows.size() ? &rows[static_cast<std::size_t>(row_)] : nullptr;
    }
    QPointer<TimelineWidget> widget_;
    int row_;
};

class TimelineAccessible : public QAccessibleWidget {
public:
    explicit TimelineAccessible(TimelineWidget* widget) : QAccessibleWidget(widget, QAccessible::List), widget_(widget) {}
    ~TimelineAccessible() override { forget(); }

    [[nodiscard]] int childCount() const override {
        const auto [first, last] = rows_in_sight(*widget_);
        return last - first + (selected_place(*widget_) ? 1 : 0);
    }
    [[nodiscard]] QAccessibleInterface* child(int index) const override {
        const auto [first, last] = rows_in_sight(*widget_);
        if (index < 0 || index >= childCount()) return nullptr;
        return item(index < last - first ? first + index : -1);
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* wanted) const override {
        for (int i = 0; i < childCount(); ++i) {
            if (child(i) == wanted) return i;
        }
        return -1;
    }
    [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
        const QPoint at = widget_->viewport()->mapFromGlobal(QPoint(x, y));
        const int row = widget_->row_layout().row_at(at.y() + widget_->view().scroll);
        return row >= 0 && widget_->viewport()->rect().contains(at) ? item(row) : nullptr;
    }
    [[nodiscard]] QAccessibleInterface* focusChild() const override {
        if (selected_place(*widget_)) return item(-1);
        return widget_->current_row() >= 0 ? item(widget_->current_row()) : nullptr;
    }

private:
    QAccessibleInterface* item(int row) const {
        for (const QAccessible::Id id : items_) {
            auto* known = static_cast<TimelineItem*>(QAccessible::accessibleInterface(id));
            if (known != nullptr && known->row_number() == row) return known;
        }
        auto* made = new TimelineItem(widget_, row);
        items_.push_back(QAccessible::registerAccessibleInterface(made));
        return made;
    }
    void forget() {
        for (const QAccessible::Id id : items_) QAccessible::deleteAccessibleInterface(id);
        items_.clear();
    }
    TimelineWidget* widget_;
    mutable std::vector<QAccessible::Id> items_;
};

QAccessibleInterface* make_interface(const QString& class_name, QObject* object) {
    if (class_name != QLatin1String("faultline::TimelineWidget")) return nullptr;
    auto* widget = qobject_cast<TimelineWidget*>(object);
    return widget != nullptr ? new TimelineAccessible(widget) : nullptr;
}

}  // namespace

void install_timeline_accessibility() {
    QAccessible::removeFactory(make_interface);
    QAccessible::installFactory(make_interface);
}

int timeline_accessible_span_child(const TimelineWidget& widget) {
    if (!selected_place(widget)) return -1;
    const auto [first, last] = rows_in_sight(widget);
    return last - first;
}

}  // namespace faultline

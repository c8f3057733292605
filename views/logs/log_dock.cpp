#include "views/logs/log_dock.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "views/empty_label.h"
#include "views/format.h"
#include "views/logs/log_details.h"
#include "views/palette.h"

namespace faultline {

namespace {
enum ScopeChoice { of_selection = 0, all_lines = 1 };

/// A line between those that came by request and those that came by time.
class DividedRows : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        if (!index.data(LogModel::kDividerRole).toBool()) return;
        painter->fillRect(QRect(option.rect.left(), option.rect.top(), option.rect.width(), 2), chrome(is_dark(option.palette)).accent);
    }
};
}

LogDock::LogDock(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new LogModel(this)),
      stack_(new QStackedLayout),
      head_(new QWidget(this)),
      scope_(new QComboBox(this)),
      level_(new QComboBox(this)),
      search_(new QLineEdit(this)),
      table_(new QTableView(this)),
      body_(new QSplitter(this)),
      details_(new LogDetails(session, this)) {
    scope_->addItems({tr("Of the selection"), tr("All lines")});
    scope_->setAccessibleName(tr("Which lines"));
    level_->addItems({tr("All levels"), tr("Info and above"), tr("Warnings and above"), tr("Errors")});
    level_->setAccessibleName(tr("Least level"));
    search_->setPlaceholderText(tr("Filter: words, -word leaves out, \"a phrase\""));
    search_->setAccessibleName(tr("Filter the log"));
    search_->setClearButtonEnabled(true);
    build_table();
    build_head();
    stack_->addWidget(build_empty());
    body_->addWidget(table_);
    body_->addWidget(details_);
    body_->setChildrenCollapsible(false);
    stack_->addWidget(body_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(head_);
    column->addLayout(stack_, 1);
    filter_timer_.setSingleShot(true);
    filter_timer_.setInterval(120);
    connect(&filter_timer_, &QTimer::timeout, this, &LogDock::apply_filter);
    follow_timer_.setSingleShot(true);
    follow_timer_.setInterval(80);
    connect(&follow_timer_, &QTimer::timeout, this, &LogDock::show_range);
    connect(search_, &QLineEdit::textChanged, this, [this] { filter_timer_.start(); });
    connect(search_, &QLineEdit::returnPressed, this, &LogDock::apply_filter);
    connect(level_, &QComboBox::currentIndexChanged, this, &LogDock::apply_filter);
    connect(scope_, &QComboBox::currentIndexChanged, this, &LogDock::show_scope);
    connect(session_, &Session::capture_changed, this, &LogDock::show_capture);
    connect(session_, &Session::selection_changed, this, &LogDock::show_scope);
    connect(session_, &Session::marked_changed, this, &LogDock::show_scope);
    connect(session_, &Session::range_changed, &follow_timer_, qOverload<>(&QTimer::start));
    connect(session_, &Session::log_changed, this, &LogDock::show_log);
    show_capture();
}

void LogDock::build_table() {
    table_->setModel(model_);
    table_->setAccessibleName(tr("Log lines"));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setTabKeyNavigation(false);
    table_->setWordWrap(false);
    table_->setIconSize({4, 12});
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);  // a hundred thousand rows are not measured
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->setItemDelegate(new DividedRows(table_));
    connect(model_, &QAbstractItemModel::modelReset, this, &LogDock::show_details);
    connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &LogDock::take_current);
    connect(table_, &QTableView::activated, this, &LogDock::centre_on);
}

QWidget* LogDock::build_empty() {
    auto* page = new QWidget(this);
    empty_ = empty_label(page);
    action_ = new QPushButton(page);
    second_ = new QPushButton(page);
    connect(action_, &QPushButton::clicked, this, &LogDock::act);
    connect(second_, &QPushButton::clicked, this, &LogDock::widen);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(action_);
    buttons->addWidget(second_);
    buttons->addStretch(1);
    auto* column = new QVBoxLayout(page);
    column->addStretch(1);
    column->addWidget(empty_);
    column->addLayout(buttons);
    column->addStretch(1);
    return page;
}

void LogDock::build_head() {
    scope_text_ = new QLabel(head_);
    scope_text_->setForegroundRole(QPalette::PlaceholderText);
    scope_text_->setMinimumWidth(1);
    auto* row = new QHBoxLayout(head_);
    row->setContentsMargins(10, 6, 10, 6);
    row->setSpacing(8);
    row->addWidget(scope_);
    row->addWidget(level_);
    row->addWidget(search_, 2);
    row->addWidget(scope_text_, 1);
}

QString LogDock::empty_text() const { return stack_->currentIndex() == 0 ? empty_->text() : QString(); }

LogScope LogDock::shown_scope() const { return scope_->currentIndex() == all_lines ? LogScope::whole : scope_of(*session_); }

TimeRange LogDock::asked_range() const {
    const LoadedCapture& capture = *session_->capture();
    switch (shown_scope()) {
        case LogScope::marked: return *session_->marked();
        case LogScope::request: return request_range(capture, capture.requests[*session_->selected_request()]);
        case LogScope::step:
            if (const Step* step = capture.step(*session_->selected_step())) return {step->start, step->end};
            break;
        case LogScope::whole: break;
    }
    return session_->range();
}

void LogDock::show_capture() {
    filter_timer_.stop();
    search_->blockSignals(true);
    search_->clear();
    search_->blockSignals(false);
    level_->setCurrentIndex(0);
    scope_->setCurrentIndex(of_selection);
    model_->set_lines(nullptr, {});  // the old capture may go
    model_->set_filter({});
    show_scope();
    fit_columns();
}

void LogDock::show_scope() {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr || capture->logs.empty()) {
        model_->set_lines(nullptr, {});
        show_state();
        return;
    }
    const LogScope scope = shown_scope();
    std::vector<ScopedLine> lines;
    QString what;
    switch (scope) {
        case LogScope::whole: lines = whole_log(*capture); break;
        case LogScope::marked:
            lines = lines_of(*capture, *session_->marked());
            what = tr("of the marked %1").arg(duration_text(session_->marked()->duration()));
            break;
        case LogScope::request:
            lines = lines_of(*capture, *session_->selected_request());
            what = tr("of request %1").arg(QString::fromStdString(capture->requests[*session_->selected_request()].name));
            break;
        case LogScope::step:
            if (const Step* step = capture->step(*session_->selected_step())) lines = lines_of(*capture, *step);
            what = tr("of step %1").arg(index_of(*session_->selected_step()));
            break;
    }
    scope_text_->setText(what);
    following_ = true;
    model_->set_lines(capture, std::move(lines), scope == LogScope::step || scope == LogScope::marked);
    following_ = false;
    model_->set_view(session_->range());
    show_state();
    show_log();
    if (!session_->selected_log()) follow_timer_.start();
}

void LogDock::apply_filter() {
    filter_timer_.stop();
    constexpr LogLevel kLevels[] = {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};
    const LogLevel least = kLevels[std::clamp(level_->currentIndex(), 0, 3)];
    following_ = true;
    model_->set_filter(LogFilter(least, search_->text().toStdString()));
    following_ = false;
    show_state();
    show_log();
}

void LogDock::show_range() {
    if (session_->capture() == nullptr || model_->rowCount() == 0) return;
    model_->set_view(session_->range());
    // What a person is reading stays where it is; and lines of a step come by id first, so only the whole log is scrolled.
    if (table_->hasFocus() || session_->selected_log() || shown_scope() != LogScope::whole) return;
    const int row = model_->first_row_in(session_->range());
    if (row >= 0) table_->scrollTo(model_->index(row, 0), QAbstractItemView::PositionAtTop);
}

void LogDock::show_log() {
    if (following_) return;
    const auto log = session_->selected_log();
    const int row = log ? model_->row_of(*log) : -1;
    following_ = true;
    if (row < 0) {
        table_->clearSelection();
        table_->setCurrentIndex({});
    } else if (table_->currentIndex().row() != row || !table_->selectionModel()->isRowSelected(row)) {
        table_->selectRow(row);
        table_->scrollTo(model_->index(row, 0), QAbstractItemView::PositionAtCenter);
    }
    following_ = false;
    show_details();
}

void LogDock::take_current(const QModelIndex& current) {
    if (following_ || !current.isValid()) return;
    following_ = true;
    session_->select_log(model_->position(current.row()));
    following_ = false;
    show_details();
}

void LogDock::show_details() {
    const auto log = session_->selected_log();
    const int row = log ? model_->row_of(*log) : -1;
    details_->show_line(row < 0 ? std::nullopt : std::optional(model_->scoped(row)));
}

void LogDock::centre_on(const QModelIndex& index) {
    if (!index.isValid()) return;
    session_->select_log(model_->position(index.row()));
    const LogLine& line = session_->capture()->logs[model_->position(index.row())];
    if (!line.time) return;
    TimeNs at = *line.time;
    if (line.resolution_ns <= session_->range().duration()) {
        at += line.resolution_ns / 2;
    } else if (const Step* step = line.step ? session_->capture()->step(*line.step) : nullptr) {
        // A stamp of a whole second is wider than what is shown: the step inside that second is where to look.
        if (TimeRange{*line.time, *line.time + line.resolution_ns}.overlaps({step->start, step->end})) at = step->start / 2 + step->end / 2;
    }
    session_->centre(at);
}

void LogDock::show_state() {
    const LoadedCapture* capture = session_->capture();
    const int all = capture == nullptr ? 0 : static_cast<int>(capture->logs.size());
    const int shown = model_->rowCount();
    const QString title = all == 0       ? tr("Log")
                          : shown == all ? tr("Log (%1)").arg(count_text(all))
                                         : tr("Log (%1 of %2)").arg(count_text(shown), count_text(all));
    if (title != title_) {
        title_ = title;
        Q_EMIT title_changed(title_);
    }
    if (capture == nullptr) return show_nothing(Nothing::capture);
    if (all == 0) return show_nothing(Nothing::logs);
    if (model_->scope_size() == 0) return show_nothing(Nothing::scope);
    if (shown == 0) return show_nothing(Nothing::filter);
    nothing_ = Nothing::none;
    head_->show();
    stack_->setCurrentIndex(1);
}

void LogDock::show_nothing(Nothing why) {
    nothing_ = why;
    head_->setVisible(why != Nothing::capture && why != Nothing::logs);  // a filter that hides all can be changed
    action_->setVisible(why != Nothing::capture);
    second_->setVisible(why == Nothing::scope);
    switch (why) {
        case Nothing::capture: empty_->setText(tr("Open a capture to read its log.")); break;
        case Nothing::logs:
            empty_->setText(
                tr("No log was imported with this capture.\nA log's lines need a time stamp or a request id to be laid beside the trace."));
            action_->setText(tr("Add log…"));
            break;
        case Nothing::scope: {
            const auto nearest = nearest_line(*session_->capture(), asked_range());
            QString text = tr("No line of the log belongs to the selection.");
            if (nearest)
                text += QLatin1Char('\n') +
                        (nearest->before ? tr("The nearest was written %1 before it.") : tr("The nearest was written %1 after it."))
                            .arg(duration_text(nearest->distance_ns));
            else
                text += QLatin1Char('\n') + tr("Its lines have no time stamp and name no request of it.");
            empty_->setText(text);
            action_->setText(tr("Go to the nearest"));
            action_->setEnabled(nearest.has_value());
            second_->setText(tr("Show all lines"));
            break;
        }
        case Nothing::filter:
            empty_->setText(tr("None of the %1 lines matches the filter.").arg(count_text(model_->scope_size())));
            action_->setText(tr("Clear the filter"));
            break;
        case Nothing::none: break;
    }
    if (why != Nothing::scope) action_->setEnabled(true);
    stack_->setCurrentIndex(0);
}

void LogDock::act() {
    switch (nothing_) {
        case Nothing::logs: Q_EMIT add_log_requested(); break;
        case Nothing::filter:
            level_->setCurrentIndex(0);
            search_->clear();
            apply_filter();
            break;
        case Nothing::scope:
            if (const auto nearest = nearest_line(*session_->capture(), asked_range())) {
                widen();
                session_->select_log(nearest->position);
                session_->centre(*session_->capture()->logs[nearest->position].time);
            }
            break;
        case Nothing::none:
        case Nothing::capture: break;
    }
}

void LogDock::widen() { scope_->setCurrentIndex(all_lines); }

void LogDock::fit_columns() {
    const QFontMetrics font = table_->fontMetrics();
    const int em = font.horizontalAdvance(QLatin1Char('m'));
    table_->verticalHeader()->setDefaultSectionSize(font.height() + 6);
    // As wide as what stands in them, so that the message has the rest; a look at the first lines tells.
    for (const int column : {LogModel::time_column, LogModel::level_column, LogModel::place_column, LogModel::logger_column,
                             LogModel::method_column}) {
        table_->resizeColumnToContents(column);
        table_->setColumnWidth(column, std::min(table_->columnWidth(column), em * 13));
    }
    // Where the dock is narrow the details say who wrote the line.
    const bool narrow = width() < em * 100;
    table_->setColumnHidden(LogModel::place_column, narrow);
    table_->setColumnHidden(LogModel::logger_column, narrow);
    const Qt::Orientation beside = width() < em * 70 ? Qt::Vertical : Qt::Horizontal;
    if (body_->orientation() == beside && fitted_) return;  // as the person left it
    body_->setOrientation(beside);
    const int all = beside == Qt::Horizontal ? width() : height();
    body_->setSizes({all * 6 / 10, all * 4 / 10});
    fitted_ = isVisible();
}

void LogDock::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

void LogDock::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit_columns();
}

}  // namespace faultline

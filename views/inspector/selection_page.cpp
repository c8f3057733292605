#include "views/inspector/selection_page.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QStackedLayout>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>

#include "views/empty_label.h"
#include "views/format.h"
#include "views/icon.h"
#include "views/palette.h"
#include "views/steps/step_table_model.h"

namespace faultline {

SelectionPage::SelectionPage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new PropertyModel(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      kind_(new QLabel(this)),
      name_(new QPlainTextEdit(this)),
      copy_name_(new QToolButton(this)),
      tree_(new QTreeView(this)) {
    name_->setReadOnly(true);
    name_->setObjectName(QStringLiteral("span_name"));
    name_->setAccessibleName(tr("Name of the selection"));
    name_->setTabChangesFocus(true);
    name_->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    name_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    name_->setWordWrapMode(QTextOption::WrapAnywhere);
    copy_name_->setToolTip(tr("Copy the name"));
    copy_name_->setAccessibleName(copy_name_->toolTip());
    copy_name_->setIcon(themed_icon(QStringLiteral("copy"), QApplication::palette()));
    connect(copy_name_, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(name()); });

    tree_->setModel(model_);
    tree_->setAccessibleName(tr("Properties of the selection"));
    tree_->setRootIsDecorated(false);
    tree_->setItemsExpandable(true);
    tree_->setIndentation(10);
    tree_->setUniformRowHeights(true);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setHeaderHidden(true);
    tree_->header()->setStretchLastSection(true);
    tree_->header()->setMinimumSectionSize(40);
    connect(tree_, &QTreeView::activated, this, &SelectionPage::follow);
    connect(tree_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == 1) follow(index);
    });
    auto* copy = new QAction(tr("Copy"), tree_);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    connect(copy, &QAction::triggered, this, &SelectionPage::copy_rows);
    tree_->addAction(copy);
    tree_->setContextMenuPolicy(Qt::ActionsContextMenu);

    auto* body = new QWidget(this);
    auto* head = new QHBoxLayout;
    head->addWidget(kind_, 1);
    head->addWidget(copy_name_);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(10, 8, 10, 0);
    column->setSpacing(6);
    column->addLayout(head);
    column->addWidget(name_);
    column->addWidget(tree_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(session_, &Session::selection_changed, this, &SelectionPage::show_selection);
    connect(session_, &Session::capture_changed, this, &SelectionPage::show_selection);
    show_selection();
}

QString SelectionPage::name() const { return name_->toPlainText(); }

void SelectionPage::show_selection() {
    const LoadedCapture* capture = session_->capture();
    if (capture != nullptr && session_->selected_span()) {
        if (auto details = read_span_details(*capture, *session_->selected_span())) {
            const bool dark = is_dark(QApplication::palette());
            const QString words = details->collective ? tr("%1 · collective").arg(kind_text(details->kind)) : kind_text(details->kind);
            show_details(words, kind_colour(details->kind, details->collective, dark), details->name, std::move(details->groups));
            return;
        }
    }
    const Step* step = capture != nullptr && session_->selected_step() ? capture->step(*session_->selected_step()) : nullptr;
    if (step != nullptr) {
        show_step(*step);
        return;
    }
    if (capture != nullptr && session_->selected_request()) {
        show_request(capture->requests[*session_->selected_request()]);
        return;
    }
    model_->set_groups({});
    name_->clear();
    empty_->setText(capture == nullptr ? tr("Open a capture to inspect it.")
                                       : tr("Nothing is selected.\nClick a span on the timeline, or choose a step in the list."));
    stack_->setCurrentIndex(0);
}

void SelectionPage::show_step(const Step& step) {
    const LoadedCapture& capture = *session_->capture();
    DetailGroup time{tr("Time"), {}};
    time.rows.push_back({tr("Duration"), duration_text(step.end - step.start)});
    time.rows.push_back({tr("Exactly"), nanoseconds_text(step.end - step.start)});
    time.rows.push_back({tr("Host time"), duration_text(step.host_ns)});
    time.rows.push_back({tr("Start"), time_text(step.start)});
    time.rows.push_back({tr("End"), time_text(step.end)});
    if (const auto zero = capture.reader->zero_wall_ns()) time.rows.push_back({tr("Wall clock"), wall_text(*zero + step.start)});

    DetailGroup judged{tr("Verdict"), {}};
    if (const StepVerdict* verdict = capture.verdict(step.id)) {
        judged.rows.push_back({tr("In line"), verdict->outlier ? tr("no: %1").arg(reasons_text(verdict->reasons)) : tr("yes")});
        if (verdict->expected_ns) judged.rows.push_back({tr("Expected"), duration_text(*verdict->expected_ns)});
        if (verdict->ratio) judged.rows.push_back({tr("Ratio"), ratio_text(verdict->ratio)});
        judged.rows.push_back({tr("Bound by"), bound_text(verdict->bound)});
        judged.rows.push_back({tr("Why"), QString::fromStdString(verdict->sentence)});
        judged.rows.push_back({tr("Rule"), QString::fromStdString(verdict->rule)});
        std::erase_if(judged.rows, [](const Detail& d) { return d.value.isEmpty(); });
    }

    DetailGroup work{tr("Work"), {}};
    work.rows.push_back({tr("Phase"), phase_text(step.phase)});
    const auto add = [&work](const QString& label, const std::optional<std::int64_t>& n) {
        if (n) work.rows.push_back({label, count_text(*n)});
    };
    add(tr("Engine's number"), step.number);
    add(tr("Tokens"), step.tokens);
    add(tr("Requests"), step.batch);
    add(tr("Context requests"), step.context_requests);
    add(tr("Context tokens"), step.context_tokens);
    add(tr("Generation requests"), step.generation_requests);
    add(tr("Generation tokens"), step.generation_tokens);
    work.rows.push_back({tr("Kernels"), count_text(step.kernels)});
    work.rows.push_back({tr("GPU busy"), duration_text(step.kernel_busy_ns)});

    DetailGroup origin{tr("Origin"), {}};
    origin.rows.push_back({tr("Found by"), step.inferred ? tr("inferred from %1").arg(QString::fromStdString(step.dialect))
                                                         : QString::fromStdString(step.dialect)});
    origin.rows.push_back({tr("Instance"), QString::fromStdString(step.instance)});
    QStringList ranks;
    for (const auto rank : step.ranks) ranks += QString::number(rank);
    if (!ranks.isEmpty()) origin.rows.push_back({tr("Ranks"), ranks.join(QStringLiteral(", "))});
    for (const SpanId span : step.spans)
        if (const Track* track = capture.reader->track(span.track()))
            origin.rows.push_back({tr("Its range"), place_text(*capture.reader, *track), span});
    std::erase_if(origin.rows, [](const Detail& d) { return d.value.isEmpty(); });
    std::vector<DetailGroup> groups{std::move(time)};
    if (!judged.rows.empty()) groups.push_back(std::move(judged));
    if (step.kind != StepKind::stall) groups.push_back(std::move(work));
    groups.push_back(std::move(origin));
    const QString kind = step.kind == StepKind::stall ? tr("stall") : step.inferred ? tr("step · inferred") : tr("step");
    show_details(kind, chrome(is_dark(QApplication::palette())).accent, QString::fromStdString(step.name), std::move(groups));
}

void SelectionPage::show_request(const Request& request) {
    DetailGroup time{tr("Time"), {}};
    const auto add_time = [&time](const QString& label, const std::optional<TimeNs>& t) {
        time.rows.push_back({label, t ? time_text(*t) : tr("not known")});
    };
    const auto add_length = [&time](const QString& label, const std::optional<TimeNs>& t) {
        time.rows.push_back({label, t ? duration_text(*t) : tr("not known")});
    };
    add_time(tr("Arrival"), request.arrival);
    add_time(tr("First token"), request.first_token);
    add_time(request.aborted ? tr("Given up") : tr("End"), request.end);
    add_length(tr("Time to first token"), request.ttft_ns);
    add_length(tr("Per output token"), request.tpot_ns);
    if (!request.timing_rule.empty()) time.rows.push_back({tr("Rule"), QString::fromStdString(request.timing_rule)});
    DetailGroup work{tr("Work"), {}};
    if (request.prompt_tokens) work.rows.push_back({tr("Prompt tokens"), count_text(*request.prompt_tokens)});
    if (request.output_tokens) work.rows.push_back({tr("Output tokens"), count_text(*request.output_tokens)});
    work.rows.push_back({tr("Steps"), count_text(static_cast<std::int64_t>(request.steps.size()))});
    for (const std::string& instance : request.instances) work.rows.push_back({tr("Instance"), QString::fromStdString(instance)});
    show_details(tr("request"), chrome(is_dark(QApplication::palette())).accent, QString::fromStdString(request.name),
                 {std::move(time), std::move(work)});
}

void SelectionPage::show_details(const QString& kind, const QColor& colour, const QString& name, std::vector<DetailGroup> groups) {
    kind_->setText(QStringLiteral("<span style='color:%1'>&#9632;</span>&nbsp; %2").arg(colour.name(), kind.toHtmlEscaped()));
    name_->setPlainText(name);
    model_->set_groups(std::move(groups));
    for (int row = 0; row < model_->rowCount(); ++row) tree_->setFirstColumnSpanned(row, {}, true);
    tree_->expandAll();
    stack_->setCurrentIndex(1);
    fit();
}

void SelectionPage::follow(const QModelIndex& index) {
    if (const auto span = model_->goes_to(index)) {
        session_->select_span(*span);
        session_->reveal(*span);
    }
}

void SelectionPage::copy_rows() {
    QStringList lines;
    for (const QModelIndex& index : tree_->selectionModel()->selectedRows()) {
        const QString value = index.siblingAtColumn(1).data(PropertyModel::kTextRole).toString();
        lines += index.parent().isValid() ? index.data().toString() + QLatin1Char('\t') + value : index.data().toString();
    }
    QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

void SelectionPage::fit() {
    // As high as its text, up to six lines; the rest scrolls.
    const int line = name_->fontMetrics().lineSpacing();
    const int lines = std::clamp(static_cast<int>(name_->document()->size().height()), 1, 6);
    // The labels take what they need; only one of a very long argument is cut.
    int labels = 0;
    for (int group = 0; group < model_->rowCount(); ++group) {
        const QModelIndex heading = model_->index(group, 0);
        for (int row = 0; row < model_->rowCount(heading); ++row)
            labels = std::max(labels, tree_->fontMetrics().horizontalAdvance(model_->index(row, 0, heading).data().toString()));
    }
    tree_->setColumnWidth(0, std::min(labels + tree_->indentation() * 2 + 22, width() * 55 / 100));
    name_->setFixedHeight(lines * line + 2 * static_cast<int>(name_->document()->documentMargin()) + 12);
}

void SelectionPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void SelectionPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        copy_name_->setIcon(themed_icon(QStringLiteral("copy"), QApplication::palette()));
        show_selection();
    }
    if (event->type() == QEvent::FontChange) fit();
}

}  // namespace faultline

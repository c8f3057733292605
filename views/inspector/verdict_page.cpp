#include "views/inspector/verdict_page.h"

#include <QApplication>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QScrollBar>
#include <QStackedLayout>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "core/step_evidence.h"
#include "views/banner.h"
#include "views/breakable.h"
#include "views/empty_label.h"
#include "views/format.h"
#include "views/inspector/verdict_words.h"
#include "views/palette.h"
#include "views/steps/step_table_model.h"

namespace faultline {

namespace {

using Answer = Result<Diagnosis>;

/// With a reader of its own; `capture` keeps alive what the input refers to.
Answer judge(const std::shared_ptr<const LoadedCapture>& capture, StepId step, const Progress& progress) {
    auto reader = CaptureReader::open(capture->path);
    if (!reader) return tl::unexpected<Error>(reader.error());
    const LayerRules layers = LayerRules::built_in();
    const DiagnosisInput input{**reader, layers, capture->steps, capture->verdicts, capture->bubbles, capture->logs, capture->requests};
    return diagnose_by_numbers(input, step, progress.stop);
}

constexpr int kPadding = 6;  ///< of an item, left and right

/// Sentences wrap in the width of their column instead of being cut: drawn as they are measured, so that no line is drawn by half.
class WrappingDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto* tree = qobject_cast<const QTreeView*>(option.widget);
        if (tree == nullptr || index.column() != VerdictModel::text_column || !index.parent().isValid())
            return QStyledItemDelegate::sizeHint(option, index);
        QStyleOptionViewItem styled = option;
        initStyleOption(&styled, index);
        const int width = tree->columnWidth(VerdictModel::text_column) - tree->indentation() * 2 - 2 * kPadding;
        return {10, bounds(styled, std::max(60, width)).height() + 8};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        if (index.column() != VerdictModel::text_column || !index.parent().isValid())
            return QStyledItemDelegate::paint(painter, option, index);
        QStyleOptionViewItem styled = option;
        initStyleOption(&styled, index);
        const QString text = std::exchange(styled.text, QString());
        const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
        style->drawControl(QStyle::CE_ItemViewItem, &styled, painter, option.widget);
        const QVariant colour = index.data(Qt::ForegroundRole);
        painter->save();
        painter->setFont(styled.font);
        painter->setPen(colour.isValid() ? colour.value<QColor>() : styled.palette.color(QPalette::Text));
        painter->drawText(option.rect.adjusted(kPadding, 4, -kPadding, 0), Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignTop, text);
        painter->restore();
    }

private:
    [[nodiscard]] static QRect bounds(const QStyleOptionViewItem& styled, int width) {
        return QFontMetrics(styled.font).boundingRect(QRect(0, 0, width, 10'000), Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignTop, styled.text);
    }
};

}  // namespace

VerdictPage::VerdictPage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new VerdictModel(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      head_(new QLabel(this)),
      tree_(new QTreeView(this)) {
    head_->setWordWrap(true);
    head_->setTextFormat(Qt::RichText);
    head_->setMinimumWidth(1);
    head_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    tree_->setModel(model_);
    tree_->setItemDelegate(new WrappingDelegate(tree_));
    tree_->setAccessibleName(tr("Suspects, evidence and what to try"));
    tree_->setHeaderHidden(true);
    tree_->setRootIsDecorated(true);
    tree_->setIndentation(12);
    tree_->setWordWrap(true);
    tree_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    tree_->header()->setMinimumSectionSize(20);
    tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree_->header()->setStretchLastSection(false);
    connect(tree_, &QTreeView::activated, this, &VerdictPage::follow);
    connect(tree_, &QTreeView::clicked, this, &VerdictPage::follow);

    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(10, 8, 10, 0);
    column->setSpacing(8);
    column->addWidget(head_);
    column->addWidget(tree_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(session_, &Session::selection_changed, this, &VerdictPage::take_selection);
    connect(session_, &Session::capture_changed, this, &VerdictPage::show_capture);
    show_capture();
}

QString VerdictPage::head() const { return head_->text(); }
QString VerdictPage::empty_text() const { return stack_->currentIndex() == 0 ? empty_->text() : QString(); }

void VerdictPage::show_message(const QString& text) {
    empty_->setText(text);
    stack_->setCurrentIndex(0);
}

void VerdictPage::show_capture() {
    job_.cancel();
    shown_.reset();
    model_->clear();
    if (session_->capture() == nullptr) return show_message(tr("Open a capture to learn why a step was slow."));
    show_message(tr("Choose a step in the list, or press N for the worst one. Ctrl+D judges it."));
}

void VerdictPage::take_selection() {
    const LoadedCapture* capture = session_->capture();
    if (following_ || capture == nullptr || !session_->selected_step() || session_->selected_step() == shown_) return;
    if (isVisible()) return diagnose();
    // Out of sight nothing is computed; what is shown next is about the step that is chosen then.
    job_.cancel();
    shown_.reset();
}

void VerdictPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (session_->capture() != nullptr && session_->selected_step() && session_->selected_step() != shown_) diagnose();
}

void VerdictPage::diagnose() {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr) return;
    const Step* step = session_->selected_step() ? capture->step(*session_->selected_step()) : nullptr;
    if (step == nullptr) {
        if (!shown_) show_message(tr("No step is chosen. Choose one in the list, or press N for the worst one."));
        return;
    }
    if (shown_ == step->id && (job_.running() || stack_->currentIndex() == 1)) return;
    start(*step);
}

QString VerdictPage::stored_words(const Step& step) const {
    const StepVerdict* verdict = session_->capture()->verdict(step.id);
    QString name = step.kind == StepKind::stall ? tr("stall") : QString::fromStdString(step.name);
    if (name.size() > 90) name = name.left(89) + QChar(0x2026);
    QString text =
        tr("Step %1").arg(index_of(step.id)) + QStringLiteral(" · ") + (name.size() < 40 ? name : breakable(name)).toHtmlEscaped();
    if (verdict == nullptr) return text;
    QStringList parts{duration_text(step.end - step.start)};
    if (verdict->expected_ns) parts += tr("expected %1").arg(duration_text(*verdict->expected_ns));
    if (verdict->ratio) parts += ratio_text(verdict->ratio);
    if (verdict->bound == StepBound::balanced)
        parts += bound_text(verdict->bound);
    else if (verdict->bound != StepBound::unknown)
        parts += tr("bound by %1").arg(bound_text(verdict->bound));
    return text + QStringLiteral("<br/>") + parts.join(QStringLiteral(" · "));
}

void VerdictPage::start(const Step& step) {
    shown_ = step.id;
    model_->clear();
    show_message(tr("Comparing step %1 with its reference steps…").arg(index_of(step.id)));
    job_.start<Answer>(
        [capture = session_->shared_capture(), id = step.id](const Progress& progress) { return judge(capture, id, progress); }, this,
        [this](const Answer& answer) {
            if (!answer) return show_message(error_text(answer.error()));
            show_diagnosis(*answer);
        });
}

void VerdictPage::show_diagnosis(const Diagnosis& diagnosis) {
    const Step* step = session_->capture() != nullptr ? session_->capture()->step(diagnosis.step) : nullptr;
    if (step == nullptr) return;
    const Chrome& colours = chrome(is_dark(palette()));
    // A shape and a word say whether there is a fault; the colour only helps.
    const QString mark = diagnosis.abnormal ? QStringLiteral("▲") : QStringLiteral("○");
    QString text = QStringLiteral("<span style='color:%1'>%2</span> <b style='font-size:large'>%3</b>&nbsp;&nbsp;%4")
                       .arg((diagnosis.abnormal ? colours.error : colours.accent).name(), mark,
                            diagnosis.abnormal ? fault_type_text(diagnosis.fault_type).toHtmlEscaped() : tr("Normal"),
                            confidence_text(diagnosis.confidence));
    QStringList others;
    for (const auto& other : diagnosis.alternatives)
        others += fault_type_text(other.fault_type).toHtmlEscaped() + QLatin1Char(' ') + QLocale().toString(other.confidence, 'f', 2);
    if (!others.isEmpty()) text += QStringLiteral("<br>") + tr("or: %1").arg(others.join(QStringLiteral(", ")));
    text += QStringLiteral("<p style='margin-top:4px;margin-bottom:4px'>%1</p>")
                .arg(QString::fromStdString(diagnosis.explanation).toHtmlEscaped());
    text += QStringLiteral("<p style='color:%1;margin:0'>%2</p><p style='color:%1;margin:0'>%3</p>")
                .arg(colours.muted.name(), stored_words(*step),
                     diagnosis.model == "numbers" ? tr("answered from the numbers alone, without a learned model")
                                                  : tr("answered by %1").arg(QString::fromStdString(diagnosis.model).toHtmlEscaped()));
    head_->setText(text);
    model_->set_diagnosis(diagnosis);
    for (int row = 0; row < model_->rowCount(); ++row) tree_->setFirstColumnSpanned(row, {}, true);
    tree_->expandAll();
    stack_->setCurrentIndex(1);
    fit_columns();
}

void VerdictPage::follow(const QModelIndex& index) {
    const auto link = model_->link(index);
    if (!link || session_->capture() == nullptr) return;
    following_ = true;
    go_to(*link);
    following_ = false;
    Q_EMIT followed(link->kind);
}

void VerdictPage::select(SpanId span) {
    session_->select_span(span);
    session_->reveal(span);
}

void VerdictPage::go_to(const VerdictLink& link) {
    const LoadedCapture& capture = *session_->capture();
    if (link.kind == EvidenceKind::span) return select(SpanId{link.id});
    if (link.kind == EvidenceKind::log) {
        if (const auto position = capture.log_position(link.id)) {
            session_->select_log(position);
            if (capture.logs[*position].time) session_->show_range({*capture.logs[*position].time, *capture.logs[*position].time + 1});
        }
        return;
    }
    if (link.kind == EvidenceKind::bubble) {
        if (const Bubble* bubble = capture.bubble(link.id)) {
            const TimeRange range{bubble->start, bubble->start + bubble->duration};
            session_->set_marked(range);
            session_->show_range(range);
        }
        return;
    }
    // A difference names a span where there is one, else the step; what starts where the evidence says is the span.
    const auto place = link.kind == EvidenceKind::difference && capture.index ? capture.index->place(SpanId{link.id}) : std::nullopt;
    if (place && (!link.start || place->range().start == *link.start)) return select(SpanId{link.id});
    if (link.kind == EvidenceKind::roofline || (!link.start && link.kind == EvidenceKind::difference)) {
        session_->select_step(shown_);
        return;
    }
    if (link.start) session_->show_range({*link.start, *link.start + 1});
}

void VerdictPage::fit_columns() {
    const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
    const int room = width() - 20 - tree_->verticalScrollBar()->sizeHint().width() - 2;
    const int weight = fontMetrics().horizontalAdvance(QStringLiteral("888.88 ms")) + 24;
    tree_->setColumnWidth(VerdictModel::weight_column, weight);
    tree_->setColumnWidth(VerdictModel::text_column, std::max(em * 10, room - weight));
    tree_->doItemsLayout();  // the height of a wrapped sentence follows the width
}

void VerdictPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

void VerdictPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) fit_columns();
}

}  // namespace faultline

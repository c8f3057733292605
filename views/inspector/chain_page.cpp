#include "views/inspector/chain_page.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QStackedLayout>
#include <QStyle>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "views/banner.h"
#include "views/breakable.h"
#include "views/empty_label.h"
#include "views/format.h"
#include "views/palette.h"

namespace faultline {

namespace {

using LoadedChain = Result<std::shared_ptr<const CallChain>>;

LoadedChain read_chain(const std::string& path, StepId step) {
    auto reader = CaptureReader::open(path);
    if (!reader) return tl::unexpected<Error>(reader.error());
    auto chain = step_chain(**reader, LayerRules::built_in(), step);
    if (!chain) return tl::unexpected<Error>(chain.error());
    return std::make_shared<const CallChain>(std::move(*chain));
}

}  // namespace

ChainPage::ChainPage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new ChainModel(this)),
      filter_(new QSortFilterProxyModel(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      head_(new QLabel(this)),
      search_(new QLineEdit(this)),
      tree_(new QTreeView(this)) {
    filter_->setSourceModel(model_);
    filter_->setRecursiveFilteringEnabled(true);
    filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    filter_->setFilterKeyColumn(ChainModel::name_column);
    search_->setPlaceholderText(tr("Find in the chain"));
    search_->setAccessibleName(search_->placeholderText());
    search_->setClearButtonEnabled(true);
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
        filter_->setFilterFixedString(text);
        if (!text.isEmpty()) tree_->expandAll();
    });
    head_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    head_->setWordWrap(true);
    head_->setMinimumWidth(1);  // a long name wraps instead of widening the dock

    tree_->setModel(filter_);
    tree_->setAccessibleName(tr("Call chain of the step"));
    tree_->setUniformRowHeights(true);
    tree_->setIndentation(10);
    tree_->setIconSize({10, 10});
    tree_->setTextElideMode(Qt::ElideRight);
    tree_->header()->setStretchLastSection(false);
    tree_->header()->setSectionResizeMode(QHeaderView::Interactive);
    connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& current) {
        if (following_ || !current.isValid()) return;
        const SpanId span = model_->span_at(filter_->mapToSource(current));
        if (!span.valid()) {
            if (shown_) session_->select_step(shown_);
            return;
        }
        session_->select_span(span);
        session_->reveal(span);
    });

    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(10, 8, 10, 0);
    column->setSpacing(6);
    column->addWidget(head_);
    column->addWidget(search_);
    column->addWidget(tree_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(session_, &Session::selection_changed, this, &ChainPage::take_selection);
    connect(session_, &Session::capture_changed, this, [this] {
        shown_.reset();
        job_.cancel();
        model_->set_chain(nullptr, nullptr);
        search_->clear();
        take_selection();
    });
    take_selection();
}

void ChainPage::fit_columns() {
    // The name and the duration in sight, and the layer where it leaves room; the other columns are one scroll away.
    const QFontMetrics font = tree_->fontMetrics();
    const auto room_of = [&font](const QString& text) { return font.horizontalAdvance(text) + 26; };
    QHeaderView* header = tree_->header();
    const int duration = std::max(room_of(QStringLiteral("888.8 ms")), room_of(tr("Duration")));
    const int layer = room_of(layer_text(LayerClass::comm, SpanKind::kernel));
    header->resizeSection(ChainModel::duration_column, duration);
    header->resizeSection(ChainModel::layer_column, layer);
    header->resizeSection(ChainModel::start_column, std::max(room_of(QStringLiteral("+888.8 ms")), room_of(tr("Start in step"))));
    header->resizeSection(ChainModel::place_column, room_of(QStringLiteral("thread 888888 (python3)")));
    const int room = width() - 20 - style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, tree_) - 6 - duration;
    const int least = font.averageCharWidth() * 36;
    header->resizeSection(ChainModel::name_column, std::max(room - layer >= least ? room - layer : room, font.averageCharWidth() * 20));
}

void ChainPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

void ChainPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) fit_columns();
}

void ChainPage::show_message(const QString& text) {
    empty_->setText(text);
    stack_->setCurrentIndex(0);
}

void ChainPage::take_selection() {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr) return show_message(tr("Open a capture to see the chains of its steps."));
    const Step* step = session_->selected_step() ? capture->step(*session_->selected_step()) : nullptr;
    if (step == nullptr) {
        return show_message(session_->selected_span() ? tr("The selection belongs to no step, so it has no chain.")
                                                      : tr("Choose a step, or select a span inside one, to see its chain."));
    }
    if (step->kind == StepKind::stall) {
        job_.cancel();
        shown_.reset();
        model_->set_chain(nullptr, nullptr);
        return show_message(tr("A stall has no chain: it is a time in which no step ran. Its verdict says what was seen."));
    }
    if (shown_ != step->id) return load(*step);
    if (!job_.running() && model_->node_count() > 0) {
        stack_->setCurrentIndex(1);
        show_node();
    }
}

void ChainPage::load(const Step& step) {
    shown_ = step.id;
    model_->set_chain(nullptr, nullptr);
    show_message(tr("Reading the chain of %1…").arg(breakable(QString::fromStdString(step.name))));
    job_.start<LoadedChain>(
        [path = session_->capture()->path, id = step.id](const Progress&) { return read_chain(path, id); }, this,
        [this](LoadedChain chain) {
            if (!chain) return show_message(error_text(chain.error()));
            const Step& read = (*chain)->step;
            model_->set_chain(*chain, session_->capture());
            if (model_->node_count() == 0) return show_message(tr("Nothing was recorded inside this step."));
            head_->setText(tr("<b>%1</b><br>%2 nodes")
                               .arg(breakable(QString::fromStdString(read.name)).toHtmlEscaped(), count_text(model_->node_count())));
            stack_->setCurrentIndex(1);
            tree_->expandToDepth(2);
            fit_columns();
            show_node();
        });
}

void ChainPage::show_node() {
    const QModelIndex at = session_->selected_span() ? filter_->mapFromSource(model_->find(*session_->selected_span())) : QModelIndex();
    following_ = true;
    if (at.isValid()) {
        // Only up and down: the names stay where they are read.
        QScrollBar* across = tree_->horizontalScrollBar();
        const int left = across->value();
        tree_->setCurrentIndex(at);
        tree_->scrollTo(at, QAbstractItemView::PositionAtCenter);
        across->setValue(left);
    } else {
        tree_->clearSelection();
        tree_->setCurrentIndex({});
        tree_->scrollToTop();
    }
    following_ = false;
}

}  // namespace faultline

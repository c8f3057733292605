// The "Verdict" tab: why the chosen step was slow, answered from the numbers off the GUI thread, with evidence that can be followed.
//
// It answers while it is in sight, or when asked (diagnose()); choosing another step drops the answer that is being made. Following a link
// selects what it names without leaving the step that was judged.
#pragma once

#include <QWidget>

#include "views/inspector/verdict_model.h"
#include "views/job.h"
#include "views/session.h"

class QLabel;
class QStackedLayout;
class QTreeView;

namespace faultline {

class VerdictPage : public QWidget {
    Q_OBJECT
public:
    explicit VerdictPage(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] VerdictModel* model() const { return model_; }
    [[nodiscard]] QTreeView* tree() const { return tree_; }
    [[nodiscard]] QString head() const;        ///< the words over the tree, as rich text
    [[nodiscard]] QString empty_text() const;  ///< what stands there instead; empty where a verdict is shown
    [[nodiscard]] std::optional<StepId> step() const { return shown_; }
    [[nodiscard]] bool running() const { return job_.running(); }

public Q_SLOTS:
    /// Judges the chosen step, whether or not the page is in sight.
    void diagnose();
    void follow(const QModelIndex& index);

Q_SIGNALS:
    void followed(faultline::EvidenceKind kind);  ///< a link was followed: the session has moved

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void show_capture();
    void take_selection();
    void start(const Step& step);
    void show_message(const QString& text);
    void show_diagnosis(const Diagnosis& diagnosis);
    void go_to(const VerdictLink& link);
    void select(SpanId span);
    void fit_columns();
    [[nodiscard]] QString stored_words(const Step& step) const;

    Session* session_;
    Job job_;
    VerdictModel* model_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLabel* head_;
    QTreeView* tree_;
    std::optional<StepId> shown_;  ///< the step that is judged or being judged
    bool following_ = false;       ///< the selection moves because a link is followed
};

}  // namespace faultline

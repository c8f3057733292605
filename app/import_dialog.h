// Choosing what to import and where to, and the import itself: progress, Cancel that leaves nothing behind, errors in place.
//
// Not modal: the window stays usable while an import runs. One import at a time; closing the dialog cancels it.
#pragma once

#include <QDialog>
#include <QElapsedTimer>

#include "app/import_plan.h"
#include "importers/import_capture.h"
#include "views/job.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QTreeWidget;

namespace faultline {

class BannerStack;

class ImportDialog : public QDialog {
    Q_OBJECT
public:
    explicit ImportDialog(QWidget* parent = nullptr);
    /// Replaces the inputs and proposes a target. With `at_once` the import starts as soon as the inputs are known to be usable
    /// and nothing would be replaced.
    void set_inputs(const QStringList& paths, bool at_once = false);
    void set_target(const QString& path);
    /// The inputs are added to this capture instead of making a new one.
    void append_to(const QString& capture);
    /// Adds service logs, whatever they look like.
    void add_logs(const QStringList& paths);
    void set_time_zone(const QString& zone);
    /// What would be imported, as it stands now.
    [[nodiscard]] ImportRequest request() const;
    [[nodiscard]] QString target() const;
    [[nodiscard]] bool running() const { return import_.running(); }
    [[nodiscard]] BannerStack* banners() const { return banners_; }
    [[nodiscard]] QTreeWidget* inputs() const { return inputs_; }

public Q_SLOTS:
    void start();
    void reject() override;  ///< cancels what runs; closes when nothing does

Q_SIGNALS:
    /// Once the capture is there.
    void imported(const faultline::ImportSummary& summary);
    void open_existing(const QString& path);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build();
    QWidget* build_inputs();
    QWidget* build_target();
    QWidget* build_zone();
    QWidget* build_progress();
    void add_inputs(const QStringList& paths);
    void sniff(bool at_once);
    void show_plan(std::vector<PlannedInput> plan, bool at_once);
    void choose_files();
    void choose_logs();
    void choose_folder();
    void choose_target();
    void remove_chosen();
    void take_state();
    void show_progress(const ProgressReport& report);
    void finish(const Result<ImportSummary>& result);
    [[nodiscard]] bool can_start() const;

    Job sniffing_;
    Job import_;
    QStringList paths_;
    QStringList logs_;  ///< those of paths_ that were named as logs
    bool append_ = false;
    std::vector<PlannedInput> plan_;
    bool target_is_ours_ = true;  ///< the target was proposed, not chosen
    QElapsedTimer clock_;
    QElapsedTimer shown_;

    BannerStack* banners_ = nullptr;
    QTreeWidget* inputs_ = nullptr;
    QLabel* inputs_hint_ = nullptr;
    QWidget* zone_box_ = nullptr;
    QComboBox* zone_ = nullptr;
    QPushButton* choose_target_ = nullptr;
    QLineEdit* target_ = nullptr;
    QLabel* target_note_ = nullptr;
    QWidget* choosing_ = nullptr;
    QWidget* progress_ = nullptr;
    QLabel* phase_ = nullptr;
    QProgressBar* bar_ = nullptr;
    QLabel* figures_ = nullptr;
    QPushButton* start_ = nullptr;
    QPushButton* existing_ = nullptr;
    QPushButton* cancel_ = nullptr;
};

}  // namespace faultline

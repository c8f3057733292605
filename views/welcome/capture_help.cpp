#include "views/welcome/capture_help.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace faultline {

namespace {

QString tr_recipe(const char* text) { return QCoreApplication::translate("CaptureRecipes", text); }

QWidget* code_block(const QString& lines, const QString& title, QWidget* parent) {
    auto* box = new QWidget(parent);
    auto* code = new QPlainTextEdit(lines, box);
    code->setReadOnly(true);
    code->setTabChangesFocus(true);
    code->setAccessibleName(title);
    code->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    code->setLineWrapMode(QPlainTextEdit::NoWrap);
    code->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    code->setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    const int lines_high = static_cast<int>(lines.count(QLatin1Char('\n'))) + 1;
    code->setFixedHeight(lines_high * code->fontMetrics().lineSpacing() + 36);
    auto* copy = new QPushButton(CaptureHelp::tr("Copy"), box);
    copy->setAccessibleName(CaptureHelp::tr("Copy: %1").arg(title));
    QObject::connect(copy, &QPushButton::clicked, copy, [lines] { QApplication::clipboard()->setText(lines); });
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(code, 1);
    row->addWidget(copy, 0, Qt::AlignTop);
    return box;
}

}  // namespace

std::vector<CaptureRecipe> capture_recipes() {
    return {
        {tr_recipe("vLLM"),
         QStringLiteral("vllm serve MODEL --profiler-config '{\"profiler\": \"torch\", \"torch_profiler_dir\": \"./traces\"}'\n"
                        "curl -X POST http://localhost:8000/start_profile\n"
                        "curl -X POST http://localhost:8000/stop_profile"),
         tr_recipe("Send the slow requests between start and stop; a few seconds are enough. Each rank writes one file; open the folder. "
                   "Versions before 0.13 take the folder from the environment variable VLLM_TORCH_PROFILER_DIR instead.")},
        {tr_recipe("SGLang"),
         QStringLiteral("export SGLANG_TORCH_PROFILER_DIR=./traces\n"
                        "curl -X POST http://localhost:30000/start_profile -H 'Content-Type: application/json' \\\n"
                        "     -d '{\"num_steps\": 20, \"activities\": [\"CPU\", \"GPU\"]}'"),
         tr_recipe("Set the variable before the server starts. The profile ends by itself after that many steps.")},
        {tr_recipe("PyTorch"),
         QStringLiteral("from torch.profiler import profile, ProfilerActivity\n"
                        "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:\n"
                        "    for _ in range(20):\n"
                        "        step()\n"
                        "        p.step()\n"
                        "p.export_chrome_trace(\"trace.json.gz\")"),
         tr_recipe("p.step() marks the steps. record_shapes and with_stack tell more and make the file several times larger.")},
        {tr_recipe("Nsight Systems"),
         QStringLiteral("nsys profile --trace=cuda,nvtx,osrt --cuda-graph-trace=node --output=run COMMAND\n"
                        "nsys export --type=sqlite --output=run.sqlite run.nsys-rep"),
         tr_recipe("--cuda-graph-trace=node shows the kernels inside graph launches. This version opens the traces of the ways above; "
                   "reading such an export comes with a later one.")},
    };
}

CaptureHelp::CaptureHelp(QWidget* parent) : QWidget(parent) {
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* page = new QWidget(scroll);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(24, 18, 24, 18);
    column->setSpacing(8);
    auto* first =
        new QLabel(tr("Faultline reads traces that the engine's own profiler writes. Capture a few seconds around the slow steps, "
                      "on every rank where there are several, then drop the files or their folder on the window."),
                   page);
    first->setWordWrap(true);
    column->addWidget(first);
    for (const CaptureRecipe& recipe : capture_recipes()) {
        auto* title = new QLabel(QStringLiteral("<b>%1</b>").arg(recipe.title), page);
        title->setContentsMargins(0, 12, 0, 0);
        auto* note = new QLabel(recipe.note, page);
        note->setWordWrap(true);
        note->setForegroundRole(QPalette::PlaceholderText);
        note->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column->addWidget(title);
        column->addWidget(code_block(recipe.lines, recipe.title, page));
        column->addWidget(note);
    }
    column->addStretch(1);
    scroll->setWidget(page);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(scroll);
}

}  // namespace faultline

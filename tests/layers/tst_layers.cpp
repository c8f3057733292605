// The sources of this repository keep to their layers, and the check notices when they do not.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

#include "tests/layers/layer_check.h"

using namespace faultline::layers;

class TestLayers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sources_keep_to_their_layers();
    void rules_data();
    void rules();
    void finds_includes_and_nothing_else();
    void finds_the_violations_of_a_tree();
};

void TestLayers::sources_keep_to_their_layers() {
    const auto check = check_tree(FAULTLINE_SOURCE_DIR);
    for (const auto& violation : check.violations) {
        qWarning("%s:%zu: #include %s: %s", violation.file.c_str(), violation.line, violation.include.c_str(), violation.reason.c_str());
    }
    QCOMPARE(check.violations.size(), std::size_t{0});
    // A check that reads nothing would pass too.
    QVERIFY(check.files > 30);
    for (const char* layer : {"core", "importers", "tests", "views"}) {
        QVERIFY2(std::find(check.layers.begin(), check.layers.end(), layer) != check.layers.end(), layer);
    }
}

void TestLayers::rules_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QByteArray>("include");
    QTest::addColumn<bool>("allowed");
    const auto row = [](const char* file, const char* include, bool allowed) {
        QTest::addRow("%s %s", file, include) << QByteArray(file) << QByteArray(include) << allowed;
    };
    row("core/a.cpp", "\"core/b.h\"", true);
    row("core/a.cpp", "\"importers/b.h\"", false);
    row("core/a.cpp", "\"views/session.h\"", false);
    row("core/a.cpp", "<QString>", false);
    row("core/a.cpp", "<QtCore/QString>", false);
    row("core/a.cpp", "<simdjson.h>", false);
    row("core/a.cpp", "<torch/torch.h>", false);
    row("core/a.cpp", "<sqlite3.h>", true);
    row("core/a.cpp", "<zlib.h>", true);
    row("core/a.cpp", "<re2/re2.h>", true);
    row("core/a.cpp", "<sys/stat.h>", true);
    row("core/a.cpp", "<queue>", true);
    row("core/a.cpp", "<boost/any.hpp>", false);
    row("core/a.cpp", "\"b.h\"", false);
    row("core/a.cpp", "\"core/../views/b.h\"", false);
    row("core/a.cpp", "\"a.moc\"", false);
    row("importers/kineto/a.cpp", "\"core/b.h\"", true);
    row("importers/kineto/a.cpp", "\"importers/source_file.h\"", true);
    row("importers/kineto/a.cpp", "<simdjson.h>", true);
    row("importers/kineto/a.cpp", "<zlib.h>", true);
    row("importers/nsys/a.cpp", "<sqlite3.h>", true);
    row("views/a.cpp", "<sqlite3.h>", false);
    row("importers/kineto/a.cpp", "<QFile>", false);
    row("importers/kineto/a.cpp", "\"app/b.h\"", false);
    row("ml/a.cpp", "\"core/b.h\"", true);
    row("ml/a.cpp", "\"importers/b.h\"", false);
    row("ml/a.cpp", "<torch/torch.h>", false);
    row("ml/a.cpp", "\"ml/net/b.h\"", false);
    row("ml/net/a.cpp", "\"ml/b.h\"", true);
    row("ml/net/a.cpp", "<ATen/ATen.h>", true);
    row("ml/net/a.cpp", "<QString>", false);
    row("views/a.cpp", "\"core/b.h\"", true);
    row("views/a.cpp", "\"ml/b.h\"", false);
    row("views/a.cpp", "\"importers/b.h\"", false);
    row("views/a.cpp", "<QWidget>", true);
    row("views/a.cpp", "\"a.moc\"", true);
    row("views/a.cpp", "\"b.moc\"", false);
    row("views/a.cpp", "<sqlite3.h>", false);
    row("views/a.cpp", "\"app/main_window.h\"", false);
    row("app/commands/a.cpp", "\"core/b.h\"", true);
    row("app/commands/a.cpp", "\"app/commands/b.h\"", true);
    row("app/commands/a.cpp", "\"views/session.h\"", false);
    row("app/commands/a.cpp", "\"app/main_window.h\"", false);
    row("app/commands/a.cpp", "<QString>", false);
    row("app/commands/a.cpp", "<CLI/CLI.hpp>", true);
    row("app/a.cpp", "\"app/commands/b.h\"", true);
    row("app/a.cpp", "\"importers/b.h\"", true);
    row("app/a.cpp", "\"ml/b.h\"", true);
    row("app/a.cpp", "\"ml/net/b.h\"", false);
    row("app/a.cpp", "\"tests/support/b.h\"", false);
    row("app/a.cpp", "<CLI/CLI.hpp>", true);
    row("app/a.cpp", "<nlohmann/json.hpp>", true);
    row("tests/a.cpp", "\"ml/net/b.h\"", true);
    row("tests/views/a.cpp", "\"b.h\"", true);
    row("tests/views/a.cpp", "\"../support/b.h\"", true);
    row("tests/views/a.cpp", "\"../../core/b.h\"", false);
    row("tests/a.cpp", "<QTest>", true);
    row("tests/a.cpp", "<simdjson.h>", true);
}

void TestLayers::rules() {
    QFETCH(QByteArray, file);
    QFETCH(QByteArray, include);
    QFETCH(bool, allowed);
    const auto reason = why_forbidden(file.toStdString(), include.toStdString());
    QVERIFY2(reason.empty() == allowed, reason.empty() ? "allowed" : reason.c_str());
}

void TestLayers::finds_includes_and_nothing_else() {
    const auto found = includes_of(
        "// #include \"a.h\"\n"
        "#include \"core/a.h\"  // why\n"
        "/* a\n#include <b>\n*/ #  include <QString>\n"
        "auto text = R\"x(\n#include <torch/torch.h>\n)x\";\n"
        "auto line = \"#include <d>\";\n"
        "auto glob = \"/* \\\" //\"; auto quote = '\"';\n"
        "#include MACRO\n"
        "\t#include <zlib.h>");
    QCOMPARE(found.size(), std::size_t{3});
    QCOMPARE(found[0].text, std::string("\"core/a.h\""));
    QCOMPARE(found[0].line, std::size_t{2});
    QCOMPARE(found[1].text, std::string("<QString>"));
    QCOMPARE(found[1].line, std::size_t{5});
    QCOMPARE(found[2].text, std::string("<zlib.h>"));
    QCOMPARE(found[2].line, std::size_t{12});
}

void TestLayers::finds_the_violations_of_a_tree() {
    QTemporaryDir folder;
    QVERIFY(folder.isValid());
    const QDir root(folder.path());
    const auto write = [&](const QString& path, const QByteArray& text) {
        QVERIFY(root.mkpath(QFileInfo(path).path()));
        QFile file(root.filePath(path));
        QVERIFY(file.open(QIODevice::WriteOnly));
        QCOMPARE(file.write(text), text.size());
    };
    write(QStringLiteral("core/deep/good.cpp"), "#include <vector>\n#include \"core/good.h\"\n");
    write(QStringLiteral("core/bad.cpp"), "#include <vector>\n\n#include <QString>\n");
    write(QStringLiteral("views/bad.h"), "#pragma once\n#include \"importers/registry.h\"\n#include <QWidget>\n");
    write(QStringLiteral("views/notes.md"), "#include <simdjson.h>\n");
    write(QStringLiteral("build/core/generated.cpp"), "#include <QString>\n");

    const auto check = check_tree(folder.path().toStdString());
    QCOMPARE(check.files, std::size_t{3});
    QCOMPARE(check.violations.size(), std::size_t{2});
    QCOMPARE(check.violations[0].file, std::string("core/bad.cpp"));
    QCOMPARE(check.violations[0].line, std::size_t{3});
    QCOMPARE(check.violations[0].include, std::string("<QString>"));
    QCOMPARE(check.violations[0].reason, std::string("Qt may be included only in views, app (and tests)."));
    QCOMPARE(check.violations[1].file, std::string("views/bad.h"));
    QCOMPARE(check.violations[1].line, std::size_t{2});
    QCOMPARE(check.violations[1].reason, std::string("views may include only core, views."));
}

QTEST_GUILESS_MAIN(TestLayers)
#include "tst_layers.moc"

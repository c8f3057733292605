// The pictures of the window: all there, of the promised size, and not the same.
#include <QDir>
#include <QImage>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "app/main_window.h"
#include "app/screenshots.h"
#include "tests/support/two_steps.h"

using namespace faultline;

class TestScreenshots : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, dir_.path());
        QCoreApplication::setOrganizationName(QStringLiteral("Faultline test"));
    }

    void six_pictures() {
        const QString capture = dir_.filePath(QStringLiteral("two.faultline"));
        QVERIFY(test::write_two_steps(capture));
        const QDir out(dir_.filePath(QStringLiteral("pictures")));
        MainWindow window;
        QCOMPARE(write_screenshots(window, capture, out.path()), 0);
        QList<QImage> images;
        for (const char* name : {"kernel-selected", "step-chosen", "import-ledger", "dark", "verdict", "roofline"}) {
            const QImage image(out.filePath(QString::fromLatin1(name) + QStringLiteral(".png")));
            QCOMPARE(image.size(), QSize(1600, 1000));
            QVERIFY(!images.contains(image));
            images << image;
        }
        QVERIFY(qGray(images[3].pixel(5, 500)) < 80);
        QVERIFY(qGray(images[0].pixel(5, 500)) > 200);
    }

    void a_file_that_cannot_be_used_fails() {
        const QString bad = dir_.filePath(QStringLiteral("bad.faultline"));
        QFile file(bad);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("nothing");
        file.close();
        MainWindow window;
        QCOMPARE(write_screenshots(window, bad, dir_.filePath(QStringLiteral("none"))), 3);
    }

private:
    QTemporaryDir dir_;
};

QTEST_MAIN(TestScreenshots)
#include "tst_screenshots.moc"

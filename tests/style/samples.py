"""What each rule must refuse and what it must let pass.

rule -> list of (files, expected): `files` maps paths to contents; `expected` is a piece of the
violation, or None where there must be none. "compile" lists the sources that have a target.
"""

LONG_LINE = "// " + "x" * 98 + "\n"

SAMPLES = {
    "layering": [
        ({"session/a.cc": '#include "server/app.h"\n'}, "session/ must not include server/app.h"),
        ({"session/a.cc": "#include <unistd.h>\n"}, "must not include unistd.h"),
        ({"session/a.cc": '#include "holdfast/v1/session.pb.h"\n'}, "must not include holdfast"),
        ({"session/a.cc": '#include "a.h"\n'}, "must not include a.h"),
        ({"store-fs/a.cc": "#include <grpcpp/grpcpp.h>\n"}, "must not include grpcpp"),
        ({"server/rpc/a.cc": '#include "store-fs/store.h"\n'}, "must not include store-fs"),
        ({"cli/a.cc": '#include "session/head.h"\n'}, "must not include session"),
        ({"platform/a.cc": '#include <openssl/evp.h>\n#include <vector>\n'}, None),
        ({"session/a.cc": '#include "absl/status/status.h"\n#include "session/a.h"\n'}, None),
        ({"store-fs/a.cc": '#include <sys/file.h>\n#include "session/head.h"\n'}, None),
        ({"server/stores.cc": '#include "store-fs/store.h"\n'}, None),
        ({"tests/unit/a.cc": '#include "cli/cli.h"\n#include "store-fs/store.h"\n'}, None),
        ({"tests/support/reference_a.h": '#include "session/guard.h"\n'}, "must not include"),
        ({"tests/support/reference_a.cc": '#include "session/apply.h"\n'}, "must not include"),
        ({"tests/support/reference_a.cc": '#include "session/head.h"\n'}, None),
        ({"tests/support/a.cc": '#include "session/guard.h"\n'}, None),
    ],
    "sizes": [
        ({"session/a.cc": "//\n" * 501}, "more than 500 lines"),
        ({"tests/unit/a.cc": "//\n" * 801}, "more than 800 lines"),
        ({"session/a.cc": "//\n" * 500, "tests/unit/a.cc": "//\n" * 800}, None),
    ],
    "width": [
        ({"session/a.h": LONG_LINE}, "session/a.h:1: 101 columns"),
        ({"protos/a.proto": LONG_LINE}, "101 columns"),
        ({"session/a.h": LONG_LINE[1:]}, None),
    ],
    "banned": [
        ({"session/a.h": "using namespace std;\n"}, "using namespace"),
        ({"server/a.cc": "auto t = std::chrono::system_clock::now();\n"}, "through the Clock"),
        ({"store-fs/a.cc": "auto t = absl::Now();\n"}, "through the Clock"),
        ({"session/a.cc": "int* p = new int;\n"}, "no raw new"),
        ({"session/a.cc": "void F(int* p) { delete p; }\n"}, "no raw new"),
        ({"session/a.cc": "const char* place = __FILE__;\n"}, "same bytes"),
        ({"cli/a.h": "std::source_location place;\n"}, "same bytes"),
        ({"session/a.cc": "auto v = x | std::views::take(2);\n"}, "view pipelines"),
        ({"session/a.cc": "auto r = std::ranges::unique(v);\n"}, "cannot read a subrange"),
        ({"tests/rpc/a.cc": "std::this_thread::sleep_for(1s);\n"}, "waits for a condition"),
        ({"tests/rpc/a.cc": "absl::SleepFor(d);\n"}, "waits for a condition"),
        ({"tests/rpc/a.cc": "GTEST_SKIP();\n"}, "says why"),
        ({"tests/rpc/a.cc": "TEST(A, DISABLED_B) {}\n"}, "a test runs, or it goes"),
        ({"session/a.cc": "#if 0\n#endif\n"}, "not compiled"),
        ({"tests/support/reference_a.cc": "auto t = Next(from, trigger);\n"}, "of its own"),
        ({"tests/support/reference_a.cc": "auto n = revision.Next();\n"}, None),
        ({"session/a.cc": "auto t = Next(from, trigger);\n"}, None),
        ({"session/a.cc": "// TODO: later\n"}, "finish it"),
        ({"scripts/a": "# FIXME\n"}, "finish it"),
        ({"session/a.cc": "int x;  // NOLINT\n"}, "NOLINT(check-name): reason"),
        ({"session/a.cc": "int x;  // NOLINT(a-check)\n"}, "NOLINT(check-name): reason"),
        ({"session/a.cc": "// NOLINTNEXTLINE\nint x;\n"}, "NOLINT(check-name): reason"),
        ({"session/a.cc": "int x;  // NOLINT(a-check): because\n"}, None),
        ({"session/a.cc": 'A(const A&) = delete;  // a new one\nauto s = "new delete";\n'}, None),
        ({"platform/clock.cc": "auto t = std::chrono::steady_clock::now();\n"}, None),
        ({"server/rpc/watch_reactor.cc": "void OnDone() { delete this; }\n"}, None),
        ({"tests/rpc/a.cc": 'GTEST_SKIP() << "no such disk";\n'}, None),
        ({"session/a.cc": "auto n = 1'000; char c = '\"'; auto m = 2'000;  // new\n"}, None),
        ({"session/a.cc": "#include <new>\nvoid* operator new(size_t);\n"}, None),
        ({"session/a.cc": 'auto r = R"(delete " new)";\n'}, None),
    ],
    "dead_files": [
        ({"session/a.h": "", "session/a.cc": "", "compile": ["session/a.cc"]}, "no file includes"),
        ({"tests/odd/a.cc": "", "compile": []}, "tests/odd/a.cc:1: no target compiles it"),
        (
            {
                "session/a.h": "",
                "session/a.cc": '#include "session/a.h"\n',
                "compile": ["session/a.cc"],
            },
            None,
        ),
    ],
    "machine_paths": [
        ({"scripts/a": "cd /home/me/project\n"}, "a path of one machine"),
        ({"docs/a.md": "see `/Users/me/notes`\n"}, "a path of one machine"),
        ({"tests/unit/a.cc": 'root = "/home/ada/engine";\n'}, None),
        ({"docs/a.md": "the usr/home/page and $dir/root/notes\n"}, None),
    ],
    "contract": [
        ({"session/store.h": "// [C001] Says.\n"}, "[C001] has no test"),
        ({"session/store.h": "// [C1] Says.\n"}, "needs three digits"),
        ({"session/store.h": "// [C001] A.\n// [C001] B.\n"}, "marked twice"),
        ({"tests/contract/a.cc": "TEST_P(Store, C007_Says) {}\n"}, "C007 is no sentence"),
        (
            {
                "session/store.h": "// [C001] Says. See C002.\n// [C002] Says.\n",
                "tests/contract/a.cc": "TEST_P(Store, C001_A) {}\nTEST_P(Store, C002_B) {}\n"
                "TEST_P(Store, OpensTwice) {}\n",
            },
            None,
        ),
    ],
}

"""What the rule for sources of one batch must refuse and what it must let pass; see samples.py."""


def both(one, other, folder="session"):
    """Two sources of a folder, with these lines in their anonymous namespaces."""
    return {
        path: f"namespace holdfast {{\nnamespace {{\n\n{lines}\n\n}}  // namespace\n}}\n"
        for path, lines in ((f"{folder}/a.cc", one), (f"{folder}/b.cc", other))
    }


def in_tests(area, one, other):
    return both(one, other, f"tests/{area}")


BATCH_SAMPLES = {
    "batched_names": [
        (both("void F(int a) {\n}", "int F() { return 1; }"), "session/a.cc declares `F` too"),
        (both("std::vector<A>\nLongName(int a) {\n}", "A LongName() {\n}"), "declares `LongName`"),
        (both("constexpr int kA = 1;", "constexpr char kA[] = {};"), "declares `kA` too"),
        (both("struct A {\n};", "class A final : public B {\n};"), "declares `A` too"),
        (both("Log* log ABSL_GUARDED_BY(m) = nullptr;", "Log log;"), "declares `log` too"),
        (both("enum A : int { kOne, kTwo = 2 };", "constexpr int kTwo = 2;"), "declares `kTwo`"),
        (both("using A = int;", "using A = long;"), "declares `A` too"),
        (
            {"cli/a.cc": "static int F() {\n}\n", "cli/b/c.cc": "constexpr int F = 1;\n"},
            "cli/a.cc declares `F` too",
        ),
        (both("namespace a = b;", "namespace a = c;"), "session/a.cc declares `a` too"),
        (
            both("constexpr int kA = 1;", "void F() {\n  constexpr A kA{1};\n}"),
            "session/b.cc:5: `kA` hides that of session/a.cc",
        ),
        (
            both("class A {\n  static constexpr char kA[] = {};\n};", "const B kA = C();"),
            "session/a.cc:5: `kA` hides that of session/b.cc",
        ),
        (in_tests("unit", "struct A {\n};", "struct A {\n};"), "tests/unit/a.cc declares `A` too"),
        (in_tests("support", "int F() {\n}", "char F() {\n}"), "tests/support/a.cc declares `F`"),
        (in_tests("unit", "using A = B::C;", "using A = D::C;"), "declares `A` too"),
        (in_tests("unit", "TEST(A, B) {\n}", "TEST(A, C) {\n}"), None),
        (in_tests("unit", "TEST_F(A, B) {\n}", "TEST_F(A, C) {\n}"), None),
        (in_tests("unit", "TEST_P(A, B) {\n}", "TEST_P(A, C) {\n}"), None),
        (
            in_tests(
                "unit",
                "INSTANTIATE_TEST_SUITE_P(A, B,\n                         Values(1));",
                "INSTANTIATE_TEST_SUITE_P(A, C,\n                         Values(1));",
            ),
            None,
        ),
        (in_tests("preload", "int F() {\n}", "int F() {\n}"), None),
        (
            in_tests("unit", "struct A {\n};", "") | in_tests("rpc", "struct A {\n};", ""),
            None,
        ),
        (both("using A = int;\nusing std::vector;", "using A = int;\nusing std::vector;"), None),
        (both("enum A : int { kA };", "void F() {\n  const int kA = 1;\n}"), None),
        (both("namespace a = b;", "namespace a = b;"), None),
        (both("void F() {\n  const int kA = 1;\n}", "void G() {\n  const int kA = 2;\n}"), None),
        (both("constexpr int kA = 1;\nvoid F() {\n  const int b = kA;\n}", ""), None),
        (both("void F(int a) {\n  int b = G(a);\n}", "void H() {\n  G(1);\n}"), None),
        (both("class A {\n};\nvoid A::F() {\n}", "class B {\n};\nvoid B::F() {\n}"), None),
        (both("void F() {\n}\nvoid F(int a) {\n}", "static_assert(kA == 1);"), None),
        (both("enum class A : int { kOne };", "enum class B : int { kOne };"), None),
        ({"session/a.cc": "int F() {\n}\n", "session/b.cc": "int F() {\n}\n"}, None),
        (
            {
                "session/a.cc": "namespace {\nint F() {\n}\n}  // namespace\n",
                "server/a.cc": "namespace {\nint F() {\n}\n}  // namespace\n",
            },
            None,
        ),
    ],
}

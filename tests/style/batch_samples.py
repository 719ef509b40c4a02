"""What the rule for sources of one batch must refuse and what it must let pass; see samples.py."""


def both(one, other):
    """Two sources of a folder, with these lines in their anonymous namespaces."""
    return {
        path: f"namespace holdfast {{\nnamespace {{\n\n{lines}\n\n}}  // namespace\n}}\n"
        for path, lines in (("session/a.cc", one), ("session/b.cc", other))
    }


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
        (both("using A = int;\nusing std::vector;", "using A = int;\nusing std::vector;"), None),
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

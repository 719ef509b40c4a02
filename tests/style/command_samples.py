"""Good and bad samples for the rule on printed commands, in the form that samples.py explains."""

PAGE = "# A\n\n## Start\n\n```sh\nholdfastd\n```\n"
ROW = '("docs/a.md", "Start", "sh", "")'
CMAKE = "add_test(NAME docs.Pages.Run COMMAND ${Python3_EXECUTABLE} ${scripts}/pages.py)\n"
PROGRAM = 'for block in Printed("docs.Pages.Run").take("docs/a.md", "Start"): run(block)\n'


RUN = f'{{"docs.Pages.Run": [{ROW}]}}'


def tree(page=PAGE, run=RUN, exceptions="{}", **more):
    """Documents with their inventory and their test; `more` are other files by a short name."""
    paths = {"cmake": "cmake/a.cmake", "program": "tests/docs/pages.py", "unit": "deploy/a.service"}
    files = {"cmake": CMAKE, "program": PROGRAM} | more
    return {paths[name]: text for name, text in files.items()} | {
        "docs/a.md": page,
        "tests/support/inventory.py": f"RUN = {run}\nEXCEPTIONS = {exceptions}\n",
    }


TEXT = "# A\n\n## Start\n\n```text\n{}\n```\n" + PAGE.split("\n", 2)[2].replace("Start", "Stop")
HELP = "# A\n\n## Start\n\n```text\nUsage: a\n\nExamples:\n  holdfast health\n```\n"

COMMAND_SAMPLES = {
    "commands": [
        (tree(run="{}"), "docs/a.md:5: no test runs this block"),
        (tree(page=PAGE + "\n## Stop\n\n```sh\nkill 1\n```\n"), "docs/a.md:11: no test runs"),
        (tree(page=PAGE + "\n## Stop\n\n- x\n\n  ```sh\n  kill 1\n  ```\n"), "a.md:13: no test"),
        (tree(page=PAGE + "\n## Stop\n\n```sql\nSELECT 1;\n```\n"), "docs/a.md:11: no test runs"),
        (tree(page=PAGE.replace("```sh", "```")), "docs/a.md:5: a block has a language"),
        (tree(page=PAGE.replace("```sh", "```console")), "docs/a.md:5: a block has a language"),
        (tree(page=PAGE + "<pre>holdfastd</pre>\n"), "docs/a.md:8: a block is fenced"),
        (tree(page=TEXT.format("docker ps")), "`docker ps` is a command in a block of text"),
        (tree(page=TEXT.format("$ ls")), "`$ ls` is a command in a block of text"),
        (tree(page=HELP + PAGE[5:].replace("Start", "Stop"), run="{}"), "docs/a.md:9: no test"),
        (tree(unit="# Steps:\n#\n#   systemctl start a\n"), "deploy/a.service:3: no test runs"),
        (tree(page=PAGE.replace("Start", "Begin")), "('docs/a.md', 'Start', 'sh', '') is no block"),
        (tree(cmake=""), "there is no test docs.Pages.Run"),
        (tree(program="run()\n"), "docs.Pages.Run (tests/docs/pages.py) does not read docs/a.md"),
        (tree(program='read("docs/a.md")\n'), "does not take its blocks from here"),
        (tree(run="{}", exceptions=f'{{{ROW}: "no"}}'), "has no reason"),
        (tree(exceptions=f'{{{ROW}: "it needs a cluster"}}'), "a test runs this block, and it is"),
        (tree(), None),
        (tree(page=TEXT.format("holdfastd ready: x"), run=RUN.replace("Start", "Stop")), None),
        (tree(page=HELP), None),
        (tree(run="{}", exceptions=f'{{{ROW}: "it needs a cluster"}}'), None),
    ]
}

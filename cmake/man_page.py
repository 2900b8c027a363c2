"""man_page.py SCONCE OUT: the manual page sconce(1), from what `sconce --help` and `sconce COMMAND --help` print."""

import os
import pathlib
import re
import subprocess
import sys


def text_of(program: str, *words: str) -> str:
    environment = dict(os.environ, COLUMNS="76", NO_COLOR="1")
    return subprocess.run([program, *words], env=environment, text=True, capture_output=True, check=True).stdout


def verbatim(text: str) -> str:
    """As roff, line by line."""
    lines = (line.replace("\\", "\\e").replace("-", "\\-") for line in text.rstrip().split("\n"))
    return ".nf\n" + "\n".join("\\&" + line if line[:1] in ".'" else line for line in lines) + "\n.fi\n"


def main() -> None:
    program, out = sys.argv[1:]
    version = text_of(program, "--version").split()[-1]
    overview = text_of(program, "--help")
    commands = re.findall(r"^  (\w+) ", overview.split("Subcommands:")[1], re.M)
    page = f'.TH SCONCE 1 "" "Sconce {version}" "Sconce"\n'
    page += ".SH NAME\nsconce \\- runs PyTorch programs, and shows, checks and converts their files\n"
    page += ".SH SYNOPSIS\n.B sconce\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
    page += ".SH DESCRIPTION\n" + verbatim(overview)
    for command in commands:
        page += f".SH SCONCE {command.upper()}\n" + verbatim(text_of(program, command, "--help"))
    pathlib.Path(out).write_text(page)


main()

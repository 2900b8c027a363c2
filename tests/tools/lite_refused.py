"""A program that is linked to sconce_lite refuses what only the front end knows. Usage: lite_refused.py RUN_LITE FILE.ptl CASES

The archive, which divides, is given the version of one in which division of integers truncated."""

import pathlib
import subprocess
import sys
import tempfile
import zipfile


def main() -> int:
    program, archive, cases = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        old = pathlib.Path(folder) / "old.ptl"
        with zipfile.ZipFile(archive) as read, zipfile.ZipFile(old, "w") as write:
            for record in read.infolist():
                is_version = record.filename.endswith("/version")
                write.writestr(record.filename, b"3\n" if is_version else read.read(record))
        run = subprocess.run([program, old, cases], capture_output=True, text=True)
    print(run.stdout)
    wanted = ("bytecode.pkl: operators that it needs are missing: aten::div.Scalar (meant something else in archives of "
              "version 3: sconce convert OLD NEW writes it as it is today)")
    return 0 if run.returncode == 1 and wanted in run.stdout else 1


sys.exit(main())

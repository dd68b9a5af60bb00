"""Check what is in wheel and sdist; print the lowest versions that a wheel admits; or refuse an upload.

    python archives.py CHECKOUT DIST
    python archives.py --lowest WHEEL
    python archives.py --uploadable WHEEL

The wheel holds the package as it was committed, its metadata and the licence, and nothing else; the sdist
every committed file.
"""

import email.message
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

#: The most bytes of a wheel, and of the audit's frozen distributions in it.
MOST_OF_WHEEL, MOST_OF_FROZEN = 2_000_000, 1_000_000
#: What an index links to beside the description.
ADDRESSES = ("Documentation", "Source", "Issues")
METADATA = {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE"}


def committed(checkout: Path, *under: str) -> set[str]:
    """Return the paths of all committed files under some directories."""
    command = ["git", "-C", str(checkout), "ls-files", "-z", *under]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return set(listed.stdout.split("\0")) - {""}


def must_be_equal(archive: Path, found: set[str], wanted: set[str]) -> None:
    """Stop unless an archive holds just these files."""
    if found != wanted:
        sys.exit(
            f"{archive.name}: lacks {sorted(wanted - found)}, and should not have {sorted(found - wanted)}"
        )
    print(f"{archive.name}: {len(found)} files, {archive.stat().st_size // 1024} KiB")


def must_be_small(name: str, size: int, most: int) -> None:
    """Stop if a file is larger than it may be."""
    if size > most:
        sys.exit(f"{name}: {size} bytes, and may have {most}")
    print(f"{name}: {size} bytes, of at most {most}")


def metadata(wheel: Path) -> email.message.Message:
    """Return a wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def check(checkout: Path, dist: Path) -> None:
    """Check the one wheel and the one sdist in `dist`."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    stem = "-".join(wheel.name.split("-")[:2])
    package = committed(checkout, "dplearn")
    assert {"dplearn/py.typed", "dplearn/audit/frozen.json", "dplearn/audit/verified.json"} <= package
    with zipfile.ZipFile(wheel) as archive:
        must_be_equal(
            wheel, set(archive.namelist()), package | {f"{stem}.dist-info/{name}" for name in METADATA}
        )
        must_be_small(wheel.name, wheel.stat().st_size, MOST_OF_WHEEL)
        frozen = archive.getinfo("dplearn/audit/frozen.json")
        must_be_small(frozen.filename, frozen.file_size, MOST_OF_FROZEN)
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    must_be_equal(sdist, names, {f"{stem}/{name}" for name in committed(checkout) | {"PKG-INFO"}})
    version = re.search(
        r'^__version__ = "(.*)"$', (checkout / "dplearn/_version.py").read_text(), re.MULTILINE
    )
    told = metadata(wheel)
    assert version
    assert told["Version"] == version[1]
    assert told["License-Expression"] == "BSD-3-Clause"
    assert told["License-File"] == "LICENSE"
    assert told["Description-Content-Type"] == "text/markdown"
    readme = (checkout / "README.md").read_text()
    source = dict(each.split(", ", 1) for each in told.get_all("Project-URL", [])).get("Source", "")
    assert str(told.get_payload()).replace(f"]({source}/", "](") == readme.replace(f"]({source}/", "](")


def lowest(wheel: Path) -> None:
    """Print a constraint for each lower bound of a wheel's requirements, extras included."""
    bounds = set()
    for line in metadata(wheel).get_all("Requires-Dist"):
        required = Requirement(line)
        bounds |= {
            f"{required.name}=={bound.version}" for bound in required.specifier if bound.operator == ">="
        }
    print("\n".join(sorted(bounds)))


def lacking(told: email.message.Message) -> list[str]:
    """Return why an index would not show a wheel well: no addresses, or links that lead nowhere there."""
    known = {each.partition(",")[0] for each in told.get_all("Project-URL", [])}
    missing = [f"no {name} in [project.urls]" for name in ADDRESSES if name not in known]
    links = re.findall(r"\]\((?!https?://|#)([^)]+)\)", str(told.get_payload()))
    relative = [f"{len(links)} relative links in the description, such as {links[0]}"] if links else []
    return missing + relative


def uploadable(wheel: Path) -> None:
    """Stop unless an index would show a wheel well."""
    if reasons := lacking(metadata(wheel)):
        sys.exit(f"{wheel.name} is not for an index yet: {'; '.join(reasons)}")


if __name__ == "__main__":
    if sys.argv[1] == "--lowest":
        lowest(Path(sys.argv[2]))
    elif sys.argv[1] == "--uploadable":
        uploadable(Path(sys.argv[2]))
    else:
        check(Path(sys.argv[1]), Path(sys.argv[2]))

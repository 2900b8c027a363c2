"""Functions of Python's library that are broken at every instruction. CASES: (function, arguments)."""

import calendar
import colorsys
import copy
import difflib
import fnmatch
import fractions
import functools
import gettext
import heapq
import inspect
import io
import locale
import mimetypes
import ntpath
import numbers
import operator
import posixpath
import pprint
import quopri
import random
import re
import shlex
import statistics
import string
import textwrap
import tokenize
import types
import urllib.parse

TEXT = "The quick brown fox jumps over the lazy dog. It does so again, and again; then it rests."

CASES = [
    (textwrap.wrap, (TEXT, 20)),
    (textwrap.fill, (TEXT, 30)),
    (textwrap.dedent, ("  a\n    b\n  c\n",)),
    (textwrap.indent, ("a\nb\n\nc", "> ")),
    (textwrap.shorten, (TEXT, 25)),
    (textwrap.TextWrapper._wrap_chunks, (textwrap.TextWrapper(width=10), ["a", " ", "longer", " ", "evenlongerstill", " ", "b"])),
    (textwrap.TextWrapper._split, (textwrap.TextWrapper(), TEXT)),
    (textwrap.TextWrapper._fix_sentence_endings, (textwrap.TextWrapper(), ["end.", " ", "Next", " ", "x"])),
    (statistics.mean, ([1, 2, 3.5, 4],)),
    (statistics.median, ([3, 1, 2, 9],)),
    (statistics.median_grouped, ([1, 2, 2, 3, 4, 4, 4, 5],)),
    (statistics.mode, ("aabbbc",)),
    (statistics.multimode, ("aabbc",)),
    (statistics.quantiles, ([1, 2, 3, 4, 5, 9],)),
    (statistics.variance, ([1, 2, 3.5, 4],)),
    (statistics.mean, ([],)),
    (statistics.linear_regression, ([1, 2, 3], [2, 4, 7])),
    (statistics.correlation, ([1, 2, 3], [2, 4, 7])),
    (statistics._sum, ([1, 2.5, fractions.Fraction(1, 3)],)),
    (posixpath.join, ("a", "b", "/c", "d")),
    (posixpath.normpath, ("/a/./b//../c/",)),
    (posixpath.relpath, ("/a/b/c", "/a/d")),
    (posixpath.commonpath, (["/a/b/c", "/a/b/d"],)),
    (posixpath.splitext, ("x/y.tar.gz",)),
    (posixpath.split, ("a/b/c",)),
    (posixpath.expandvars, ("$NO_SUCH_NAME/${NOR_THIS}/x",)),
    (ntpath.join, ("c:\\a", "b", "d:\\c", "d")),
    (ntpath.splitdrive, ("\\\\host\\share\\x",)),
    (ntpath.normpath, ("c:\\a\\..\\b\\.\\c",)),
    (ntpath.commonpath, (["C:\\a\\b", "c:\\a\\d"],)),
    (shlex.split, ("a 'b c' \"d e\" f\\ g # not",)),
    (shlex.quote, ("it's",)),
    (shlex.join, (["a b", "c"],)),
    (urllib.parse.urlparse, ("http://user@host:80/a;b?c=d#e",)),
    (urllib.parse.urlsplit, ("HTTP://host/a?b#c",)),
    (urllib.parse.urljoin, ("http://h/a/b/c", "../d?x")),
    (urllib.parse.urlencode, ({"a": 1, "b": [2, "x y"]}, True)),
    (urllib.parse.parse_qsl, ("a=1&b=2&c=%20x",)),
    (urllib.parse.quote, ("a b/c?é",)),
    (urllib.parse.unquote, ("a%20b%C3%A9",)),
    (difflib.SequenceMatcher.find_longest_match, (difflib.SequenceMatcher(None, "abxcd", "abcd"), 0, 5, 0, 4)),
    (difflib.SequenceMatcher.get_matching_blocks, (difflib.SequenceMatcher(None, "abxcd", "abcd"),)),
    (difflib.SequenceMatcher.get_opcodes, (difflib.SequenceMatcher(None, "abxcd", "abcd"),)),
    (difflib.SequenceMatcher._SequenceMatcher__chain_b, (difflib.SequenceMatcher(None, "abxcd", "abcd"),)),
    (difflib.SequenceMatcher.quick_ratio, (difflib.SequenceMatcher(None, "abxcd", "abcd"),)),
    (difflib.get_close_matches, ("appel", ["ape", "apple", "peach"])),
    (heapq.nsmallest, (3, [5, 1, 4, 2, 8])),
    (heapq.nlargest, (2, [5, 1, 4, 2, 8], operator.neg)),
    (heapq._siftup_max, ([3, 9, 5, 1, 2], 0)),
    (fnmatch.filter, (["a.py", "b.txt", "c.py"], "*.py")),
    (fnmatch.translate, ("a[!b-d]*.?",)),
    (calendar.monthrange, (2024, 2)),
    (calendar.TextCalendar.formatmonth, (calendar.TextCalendar(), 2024, 2)),
    (calendar.TextCalendar.formatweek, (calendar.TextCalendar(), [(1, 0), (0, 1)], 3)),
    (calendar.Calendar.monthdayscalendar, (calendar.Calendar(), 2024, 2)),
    (colorsys.rgb_to_hls, (0.2, 0.4, 0.9)),
    (colorsys.hls_to_rgb, (0.3, 0.4, 0.9)),
    (colorsys.rgb_to_hsv, (0.2, 0.4, 0.9)),
    (colorsys.hsv_to_rgb, (0.7, 0.4, 0.9)),
    (copy.copy, ([1, [2]],)),
    (copy.deepcopy, ({"a": [1, (2, [3])]},)),
    (fractions.Fraction.__new__, (fractions.Fraction, "3/6")),
    (fractions.Fraction.__new__, (fractions.Fraction, 0.75)),
    (fractions.Fraction.limit_denominator, (fractions.Fraction(314159, 100000), 100)),
    (fractions.Fraction.__pow__, (fractions.Fraction(2, 3), -2)),
    (fractions.Fraction._richcmp, (fractions.Fraction(2, 3), 0.5, operator.lt)),
    (fractions.Fraction.__round__, (fractions.Fraction(7, 2),)),
    (functools._compose_mro, (bool, [int, object])),
    (functools._c3_merge, ([[1, 2, 3], [2, 3], [3]],)),
    (functools._find_impl, (bool, {int: 1, object: 2})),
    (functools._make_key, ((1, 2), {"a": 3}, True)),
    (gettext.c2py, ("n%10==1 ? 0 : n != 2",)),
    (inspect.cleandoc, ("  a\n    b\n   c\n",)),
    (inspect.signature, (textwrap.wrap,)),
    (inspect.getmro, (bool,)),
    (inspect.getfullargspec, (textwrap.wrap,)),
    (inspect.formatannotation, (int,)),
    (string.capwords, ("some words here",)),
    (string.Template.substitute, (string.Template("$a and ${b} $$"), {"a": 1, "b": 2})),
    (string.Template.safe_substitute, (string.Template("$a and ${c}"), {"a": 1})),
    (string.Formatter.vformat, (string.Formatter(), "{0}-{a:>5}-{1!r}", (1, "x"), {"a": 2})),
    (string.Formatter._vformat, (string.Formatter(), "{}{}", (1, 2), {}, set(), 2)),
    (locale._group, ("1234567.5",)),
    (mimetypes.MimeTypes.guess_type, (mimetypes.MimeTypes(), "a/b.tar.gz")),
    (mimetypes.MimeTypes.guess_all_extensions, (mimetypes.MimeTypes(), "text/plain")),
    (pprint.saferepr, ({"a": [1, 2, {"b": ("x" * 30,) * 4}], "c": {1, 2}},)),
    (pprint.PrettyPrinter._safe_repr, (pprint.PrettyPrinter(stream=io.StringIO()), {"a": [1, (2,)]}, {}, 3, 0)),
    (quopri.needsquoting, (b"a", False, False)),
    (random.Random.sample, (random.Random(3), range(20), 5)),
    (random.Random.choices, (random.Random(3), "abcd")),
    (random.Random.shuffle, (random.Random(3), [1, 2, 3, 4, 5])),
    (random.Random.randrange, (random.Random(3), 5, 50, 7)),
    (random.Random.gauss, (random.Random(3),)),
    (random.Random.gammavariate, (random.Random(3), 2.0, 1.0)),
    (random.Random.betavariate, (random.Random(3), 2.0, 1.0)),
    (random.Random.triangular, (random.Random(3), 2.0, 5.0, 3.0)),
    (random.Random.vonmisesvariate, (random.Random(3), 1.0, 4.0)),
    (re.escape, ("a.b*c",)),
    (re._parser.parse, ("a(b|c)*[d-f]{2,3}(?P<x>.)(?=y)",)),
    (re._compiler.compile, ("a(b|c)*[d-f]{2,3}",)),
    (tokenize.untokenize, ([(1, "a"), (54, "="), (2, "3")],)),
    (types.new_class, ("Made", (list,))),
    (types.resolve_bases, ((list, int),)),
    (numbers.Complex.__bool__, (3,)),
]
# Functions behind caches; some are written in C in some versions.
CASES = [(inspect.unwrap(f), arguments) for f, arguments in CASES if isinstance(inspect.unwrap(f), types.FunctionType)]

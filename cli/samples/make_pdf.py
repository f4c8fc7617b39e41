#!/usr/bin/env python3
"""Makes `transactions.pdf` from `transactions.txt` beside it. Standard library only.

Equal text gives equal bytes: no dates of today, no random identifiers, no compression whose output
depends on a library's version. Streams are plain, so that the file can be read in an editor.

The text is a small markup: `# chapter`, `## section`, `- item`, `1. item`, four spaces for code,
`!figure caption`, `*italic*`, `**bold**`; a blank line ends a paragraph; the first lines are fields.
"""

import re
import unicodedata
from pathlib import Path

PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 595, 842, 72  # A4 in points
COLUMN = PAGE_WIDTH - 2 * MARGIN
TOP, BOTTOM = PAGE_HEIGHT - 92, 80  # first and last place for a base line
CREATED = "D:20260115120000Z"

# Advance widths of the standard fonts for the characters 32 to 126, in thousandths of the size
# (Adobe Core 14 AFM files). An accented letter is as wide as its base letter.
HELVETICA = """278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556
556 556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833
722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278
556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"""
HELVETICA_BOLD = """278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556
556 556 556 556 556 556 333 333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611
833 722 778 667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556 333 556 611 556 611 556
333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389 280 389 584"""
TIMES_ROMAN = """250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500
500 500 500 500 500 278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889
722 722 556 722 667 556 611 722 722 944 722 722 611 333 278 333 469 500 333 444 500 444 500 444 333
500 500 278 278 500 278 778 500 500 500 500 333 389 278 500 500 722 500 500 444 480 200 480 541"""
TIMES_BOLD = """250 333 555 500 500 1000 833 278 333 333 500 570 250 333 250 278 500 500 500 500 500
500 500 500 500 500 333 333 570 570 570 500 930 722 667 722 722 667 611 778 778 389 500 778 667 944
722 778 611 778 722 556 667 722 722 1000 722 722 667 333 278 333 581 500 333 500 556 444 556 444 333
500 556 278 333 556 278 833 556 500 556 556 444 389 333 556 500 722 500 500 444 394 220 394 520"""
TIMES_ITALIC = """250 333 420 500 500 833 778 214 333 333 500 675 250 333 250 278 500 500 500 500 500
500 500 500 500 500 333 333 675 675 675 500 920 611 611 667 722 611 611 722 722 333 444 667 556 833
667 722 611 722 611 500 556 722 611 833 611 556 556 389 278 389 422 500 333 500 500 444 500 444 278
500 500 278 278 444 278 722 500 500 500 500 389 389 278 500 444 667 444 444 389 400 275 400 541"""

# Resource name: (base font, widths).
FONTS = {
    "R": ("Times-Roman", [int(w) for w in TIMES_ROMAN.split()]),
    "B": ("Times-Bold", [int(w) for w in TIMES_BOLD.split()]),
    "I": ("Times-Italic", [int(w) for w in TIMES_ITALIC.split()]),
    "H": ("Helvetica", [int(w) for w in HELVETICA.split()]),
    "G": ("Helvetica-Bold", [int(w) for w in HELVETICA_BOLD.split()]),
    "C": ("Courier", [600] * 95),
}


def width(font, size, text):
    """The length of `text` in points."""
    widths = FONTS[font][1]
    bases = (350 if c == "•" else widths[ord(unicodedata.normalize("NFD", c)[0]) - 32] for c in text)
    return sum(bases) * size / 1000


def literal(text):
    """A PDF string in WinAnsi encoding."""
    escaped = re.sub(rb"[\\()]", rb"\\\g<0>", text.encode("cp1252"))
    octal = re.sub(rb"[\x80-\xff]", lambda m: b"\\%03o" % m.group()[0], escaped)
    return "(" + octal.decode("ascii") + ")"


def words(text):
    """The words of a marked-up line, each a list of (font, piece): `*fsync*,` is one word."""
    found = [[]]
    for run in re.findall(r"\*\*.+?\*\*|\*.+?\*|[^*]+", text):
        font = "B" if run.startswith("**") else "I" if run.startswith("*") else "R"
        for piece in re.split(r"( )", run.strip("*")):
            if piece == " ":
                found.append([])
            elif piece:
                found[-1].append((font, piece))
    return [word for word in found if word]


def wrap(text, size, column):
    """Breaks into lines of words, each line at most `column` points long."""
    lines, used = [[]], 0.0
    for word in words(text):
        length = sum(width(font, size, piece) for font, piece in word)
        space = width("R", size, " ") if lines[-1] else 0.0
        if lines[-1] and used + space + length > column:
            lines.append([])
            used, space = 0.0, 0.0
        lines[-1].append(word)
        used += space + length
    return lines


class Booklet:
    """Pages that fill from the top, and the outline that grows with the headings."""

    def __init__(self, title):
        self.title = title
        self.chapter = ""
        self.pages = []  # lists of content operators
        self.outline = []  # (depth, title, page, y)
        self.y = 0

    def new_page(self):
        self.pages.append([])
        self.y = TOP
        number = str(len(self.pages))
        rule = PAGE_HEIGHT - 60
        self.text("H", 8.5, MARGIN, rule + 5, self.title)
        right = PAGE_WIDTH - MARGIN - width("H", 8.5, self.chapter)
        self.text("H", 8.5, right, rule + 5, self.chapter)
        self.draw(f"0.5 w 0.6 G {MARGIN} {rule} m {PAGE_WIDTH - MARGIN} {rule} l S")
        self.text("H", 9, (PAGE_WIDTH - width("H", 9, number)) / 2, 42, number)

    def draw(self, operators):
        self.pages[-1].append(operators)

    def text(self, font, size, x, y, text):
        if text:
            self.draw(f"BT /{font} {size} Tf {x:.2f} {y:.2f} Td {literal(text)} Tj ET")

    def room(self, height):
        """Starts a new page unless `height` points are left on this one."""
        if self.y - height < BOTTOM:
            self.new_page()

    def line(self, line, size, x, stretch):
        """One line of words; `stretch` points are added to each space."""
        runs = []
        for i, word in enumerate(line):
            for font, piece in word:
                if runs and runs[-1][0] == font:
                    runs[-1][1] += piece
                else:
                    runs.append([font, piece])
            if i + 1 < len(line):
                runs[-1][1] += " "
        shown = " ".join(f"/{font} {size} Tf {literal(piece)} Tj" for font, piece in runs)
        self.draw(f"BT {stretch:.3f} Tw {x:.2f} {self.y:.2f} Td {shown} ET")

    def paragraph(self, text, size=11, leading=15, indent=0, label="", justify=True):
        column = COLUMN - indent
        lines = wrap(text, size, column)
        # Neither the first line nor the last one of a paragraph stands alone on a page.
        self.room(leading * min(len(lines) - 1, 2 if len(lines) == 3 else 1))
        if label:
            self.text("R", size, MARGIN + indent - 14, self.y, label)
        for i, line in enumerate(lines):
            self.room(leading if i + 2 == len(lines) else 0)
            natural = sum(width(f, size, p) for word in line for f, p in word)
            gaps = len(line) - 1
            full = justify and i + 1 < len(lines) and gaps > 0
            space = width("R", size, " ")
            stretch = (column - natural) / gaps - space if full else 0
            self.line(line, size, MARGIN + indent, stretch)
            self.y -= leading

    def heading(self, depth, text):
        """A bookmark too. A heading keeps some lines below it on its page, a chapter many."""
        size, before, after, below = (20, 26, 32, 200) if depth == 1 else (13.5, 12, 21, 30)
        if depth == 1:
            self.chapter = text  # before the page, whose header names it
        self.room(before + after + below)
        before = 10 if self.y == TOP else before
        self.y -= before
        self.outline.append((depth, text, len(self.pages) - 1, self.y + size + 4))
        self.text("G", size, MARGIN, self.y, text)
        self.y -= after

    def code(self, lines):
        self.room(13 * len(lines))
        for line in lines:
            self.text("C", 9.5, MARGIN + 18, self.y, line)
            self.y -= 13
        self.y -= 6

    def figure(self, caption):
        """Two trees that share leaves, and the caption below."""
        self.room(190)
        base, left = self.y - 110, MARGIN + 90
        boxes = {  # name: (x, y, new)
            "old root": (left + 60, base + 80, 0), "new root": (left + 190, base + 80, 1),
            "a": (left, base + 40, 0), "b": (left + 110, base + 40, 0),
            "b2": (left + 215, base + 40, 1), "l1": (left - 30, base, 0), "l2": (left + 30, base, 0),
            "l3": (left + 90, base, 0), "l4": (left + 150, base, 0), "l5": (left + 225, base, 1),
        }
        edges = ["old root>a", "old root>b", "a>l1", "a>l2", "b>l3", "b>l4",
                 "new root>a", "new root>b2", "b2>l3", "b2>l5"]
        self.draw("0.7 w 0.35 G")
        for edge in edges:
            (x0, y0, _), (x1, y1, _) = (boxes[end] for end in edge.split(">"))
            self.draw(f"{x0 + 22} {y0} m {x1 + 22} {y1 + 18} l S")
        for name, (x, y, new) in boxes.items():
            self.draw(f"{0.8 if new else 1} g {x} {y} 44 18 re B 0 g")
            if "root" in name:
                self.text("H", 8, x + 22 - width("H", 8, name) / 2, y + 6, name)
        self.y = base - 22
        self.paragraph(f"*{caption}*", 10, 13, justify=False)
        self.y -= 8


def lay_out(source):
    """Text to (fields, booklet)."""
    head, body = source.split("\n\n", 1)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    book = Booklet(fields["title"])
    book.new_page()
    book.y -= 20
    book.text("G", 27, MARGIN, book.y, fields["title"])
    book.text("I", 14, MARGIN, book.y - 26, fields["subtitle"])
    book.text("R", 11, MARGIN, book.y - 48, fields["author"])
    book.y -= 84
    for block in re.split(r"\n\n+", body.strip()):
        place(book, block)
    return fields, book


def place(book, block):
    """Sets one block of the markup."""
    if block.startswith("# "):
        book.heading(1, block[2:])
    elif block.startswith("## "):
        book.heading(2, block[3:])
    elif block.startswith("!figure "):
        book.figure(block[8:])
    elif block.startswith("    "):
        book.code([line[4:] for line in block.splitlines()])
    elif block.startswith("- ") or re.match(r"\d+\. ", block):
        for item in block.splitlines():
            mark, text = item.split(" ", 1)
            book.paragraph(text, indent=20, label="•" if mark == "-" else mark)
            book.y -= 3
        book.y -= 4
    else:
        book.paragraph(block)
        book.y -= 7


class File:
    """Numbered objects, then the table of where they are."""

    def __init__(self):
        self.objects = []

    def reserve(self):
        self.objects.append(None)
        return len(self.objects)

    def add(self, body, number=None):
        number = number or self.reserve()
        self.objects[number - 1] = body
        return number

    def stream(self, content):
        return self.add(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")

    def bytes(self, root, info):
        out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
        offsets = []
        for number, body in enumerate(self.objects, 1):
            offsets.append(len(out))
            out += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
        table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
        size = len(offsets) + 1
        trailer = f"trailer\n<< /Size {size} /Root {root} 0 R /Info {info} 0 R >>"
        xref = f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}\nstartxref\n{len(out)}\n%%EOF\n"
        return out + xref.encode("ascii")


def add_outline(pdf, entries, pages):
    """A tree of two levels. Returns the number of its root."""
    root = pdf.reserve()
    numbers = [pdf.reserve() for _ in entries]
    parent_of, chapter = [], None
    for (depth, *_), number in zip(entries, numbers):
        chapter = number if depth == 1 else chapter
        parent_of.append(root if depth == 1 else chapter)
    children = {p: [n for n, q in zip(numbers, parent_of) if q == p] for p in [root, *numbers]}

    def family(number):
        kids = children[number]
        return f"/First {kids[0]} 0 R /Last {kids[-1]} 0 R /Count {len(kids)}" if kids else ""

    for (_, title, page, y), number, parent in zip(entries, numbers, parent_of):
        row = children[parent]
        at = row.index(number)
        links = f"/Prev {row[at - 1]} 0 R " if at else ""
        links += f"/Next {row[at + 1]} 0 R " if at + 1 < len(row) else ""
        target = f"/Dest [{pages[page]} 0 R /XYZ {MARGIN} {y:.0f} null]"
        body = f"<< /Title {literal(title)} /Parent {parent} 0 R {links}{target} {family(number)} >>"
        pdf.add(body, number)
    # The root counts every entry that shows when all are open.
    kids = children[root]
    count = f"/First {kids[0]} 0 R /Last {kids[-1]} 0 R /Count {len(numbers)}"
    return pdf.add(f"<< /Type /Outlines {count} >>", root)


def write(fields, book):
    """The bytes of the file."""
    pdf = File()
    catalog, tree = pdf.reserve(), pdf.reserve()
    fonts = " ".join(
        f"/{name} {pdf.add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding >>')} 0 R"
        for name, (base, _) in FONTS.items()
    )
    resources = pdf.add(f"<< /Font << {fonts} >> >>")
    pages = []
    for operators in book.pages:
        content = pdf.stream("\n".join(operators))
        pages.append(pdf.add(
            f"<< /Type /Page /Parent {tree} 0 R /Resources {resources} 0 R /Contents {content} 0 R >>"
        ))
    kids = " ".join(f"{page} 0 R" for page in pages)
    box = f"[0 0 {PAGE_WIDTH} {PAGE_HEIGHT}]"
    pdf.add(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} /MediaBox {box} >>", tree)
    outline = add_outline(pdf, book.outline, pages)
    show = f"/Outlines {outline} 0 R /PageMode /UseOutlines /Lang (en)"
    pdf.add(f"<< /Type /Catalog /Pages {tree} 0 R {show} >>", catalog)
    info = pdf.add(
        f"<< /Title {literal(fields['title'])} /Author {literal(fields['author'])} "
        f"/Subject {literal(fields['subtitle'])} /Creator (make_pdf.py) /CreationDate ({CREATED}) >>"
    )
    return pdf.bytes(catalog, info)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    layout = lay_out((here / "transactions.txt").read_text(encoding="utf-8"))
    (here / "transactions.pdf").write_bytes(write(*layout))

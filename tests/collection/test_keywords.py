"""The owner's words: where they are found, what damage costs, and how long hostile files take."""

import struct

import pytest
from PIL import Image, PngImagePlugin
from tests.clock import within_cpu_seconds
from tests.collection.crafted import (
    RED,
    encode,
    exif,
    jpeg_segment,
    jpeg_with,
    png_chunk,
    png_with,
    tiff_with,
)

from fieldguide.collection import read_picture
from fieldguide.collection.keywords import MAX_BYTES, MAX_KEYWORDS, read_keywords

DC = "http://purl.org/dc/elements/1.1/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def packet(body: str, *, dc: str = "dc", rdf: str = "rdf") -> str:
    """An XMP packet as programs write it, with any prefixes."""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f'<{rdf}:RDF xmlns:{rdf}="{RDF}"><{rdf}:Description {rdf}:about="" xmlns:{dc}="{DC}">{body}'
        f"</{rdf}:Description></{rdf}:RDF></x:xmpmeta>{' ' * 200}\n<?xpacket end='w'?>"
    )


def subject(*words: str, kind: str = "Bag") -> str:
    entries = "".join(f"<rdf:li>{word}</rdf:li>" for word in words)
    return f"<dc:subject><rdf:{kind}>{entries}</rdf:{kind}></dc:subject>"


def words_of(xmp: bytes | str | None = None, windows: object = None, **info) -> tuple[str, ...]:
    image = Image.new("RGB", (1, 1))
    image.info = {**info} if xmp is None else {**info, "xmp": xmp}
    return read_keywords(image, windows)


@pytest.mark.parametrize("kind", ["Bag", "Seq", "Alt"])
def test_every_list_of_a_subject_is_read(kind):
    body = "<dc:title><rdf:Alt><rdf:li>no</rdf:li></rdf:Alt></dc:title>" + subject(
        "Heron", kind=kind
    )
    assert words_of(packet(body)) == ("heron",)


def test_prefixes_are_the_document_s_own():
    body = "<d:subject><r:Bag><r:li>heron</r:li></r:Bag></d:subject>"
    assert words_of(packet(body, dc="d", rdf="r")) == ("heron",)
    plain = f'<subject xmlns="{DC}"><Bag xmlns="{RDF}"><li>reed</li></Bag></subject>'
    assert words_of(plain) == ("reed",)


def test_a_prefix_that_means_something_else_is_not_a_subject():
    other = subject("no").replace("<dc:subject>", "<dc:subject xmlns:dc='urn:other'>")
    assert words_of(packet(other + subject("heron"))) == ("heron",)


def test_prefixes_without_a_meaning_have_the_usual_one():
    assert words_of(f"<x>{subject('heron')}</x>") == ("heron",)


def test_only_entries_of_the_list_of_a_subject_count():
    body = "<rdf:li>a</rdf:li><dc:subject>b<rdf:li>c</rdf:li>"
    body += "<x><rdf:Bag><rdf:li>d</rdf:li></rdf:Bag></x>"
    body += (
        "<rdf:Bag>e<rdf:li>f <b>g</b><![CDATA[ & h]]>&#x69;&amp;</rdf:li></rdf:Bag></dc:subject>"
    )
    assert words_of(packet(body)) == ("f g & hi&",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("padding", [0, 7])
def test_every_encoding_of_xmp(encoding, padding):
    xmp = packet(subject("Héron", "線 🦉")).encode(encoding)
    assert words_of(xmp + bytes(padding)) == ("héron", "線 🦉")


def test_marks_and_padding_around_xmp():
    text = "\ufeff \n" + packet(subject("heron")) + "\0" * 1000
    assert words_of(text) == words_of(text.encode()) == ("heron",)
    assert words_of("<?xml version='1.0' encoding='utf-16'?>" + packet(subject("heron"))) == (
        "heron",
    )


def test_words_before_the_damage_are_kept():
    cut = packet(subject("heron", "reed")).split("</rdf:Bag>")[0]
    assert words_of(cut) == words_of(cut + "<<<") == ("heron", "reed")
    assert words_of(f"<x>{subject('heron')}<y></x>{subject('lost')}") == ("heron",)
    assert words_of(packet(subject("heron", "r\0eed"))) == ("heron",)
    far = f"<x>{subject('heron')}{' ' * MAX_BYTES}{subject('lost')}</x>"
    assert words_of(far) == ("heron",)


@pytest.mark.parametrize(
    "xmp", [b"", b"\xff\xfe", bytes(9), b"\xff" * 99, "<", 7, ("a",), None, [b"x"]]
)
def test_xmp_that_is_none(xmp):
    assert words_of(xmp, windows=xmp) == ()


def test_a_document_type_is_not_read():
    declared = "<!DOCTYPE x [<!ENTITY a 'aaaa'>]>"
    assert words_of(f"{declared}<x>{subject('&a;')}{subject('heron')}</x>") == ()


def test_there_are_at_most_40_words_and_each_once():
    xmp = packet(subject(*(f"A{i // 2}" for i in range(200))))
    found = words_of(xmp, windows="a1;z".encode("utf-16-le"))
    assert found == tuple(f"a{i}" for i in range(MAX_KEYWORDS))


def test_words_are_made_alike():
    assert words_of(packet(subject("  Grey \n  Heron ", "", "x" * 99))) == ("grey heron", "x" * 64)
    odd = "a\0b\x1b[31m;\x7f\ufeff;👩\u200d🌾".encode("utf-16-le")
    assert words_of(windows=odd) == ("a b [31m", "👩\u200d🌾")


def entry(number: int, text: bytes, record: int = 2) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(text)) + text


def test_iptc():
    long = b"\x1c\x02\x19\x80\x04" + struct.pack(">L", 5) + b"marsh"
    block = (
        entry(5, b"title")
        + entry(25, b"Heron")
        + entry(25, b"")
        + long
        + entry(25, "Röhricht".encode())
    )
    found = ("heron", "marsh", "röhricht")
    assert words_of(photoshop={0x0404: block}) == found
    resource = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">L", len(block)) + block
    assert read_picture(jpeg_with(jpeg_segment(0xED, resource))).keywords == found
    assert read_picture(tiff_with([(33723, 7, len(block), block)])).keywords == found
    whole = block + bytes(-len(block) % 4)
    assert read_picture(tiff_with([(33723, 4, len(whole) // 4, whole)])).keywords == found


@pytest.mark.parametrize(
    "end", [b"\x1c", b"junk and more", b"\x1c\x02\x19\xff\xff", b"\x1c\x02\x19\x80\x04"]
)
def test_iptc_words_before_the_damage_are_kept(end):
    assert words_of(photoshop={0x0404: entry(25, b"heron") + end})[:1] == ("heron",)
    assert words_of(photoshop=b"no resources") == ()


def test_exif_keywords():
    words = "Heron;river & reed;\0".encode("utf-16-le")
    data = encode(RED, "WEBP", exif=b"Exif\0\0" + exif([(0x9C9E, 1, len(words), words)]))
    assert read_picture(data).keywords == ("heron", "river & reed")
    assert read_picture(tiff_with([(0x9C9E, 1, len(words), words)])).keywords == (
        "heron",
        "river & reed",
    )


def test_xmp_in_every_format_that_holds_it():
    xmp = packet(subject("heron")).encode()
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp.decode())
    files = [
        encode(RED, "WEBP", xmp=xmp),
        encode(RED, "JPEG", xmp=xmp),
        encode(RED, "PNG", pnginfo=info),
        tiff_with([(700, 1, len(xmp), xmp)]),
        png_with(behind=png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)),
    ]
    assert [read_picture(data).keywords for data in files] == [("heron",)] * len(files)


N = 1_000_000
ATTACKS = {
    "subjects that open": b"<dc:subject>" * (N // 12),
    "entries that open": b"<dc:subject>" + b"<rdf:li" * (N // 7) + b"</dc:subject>",
    "whole entries that open": b"<dc:subject>" + b"<rdf:li>" * (N // 8) + b"</dc:subject>",
    "subjects within subjects": b"<dc:subject><rdf:Bag><rdf:li/>" * (N // 31),
    "a long address": b"<x xmlns:a='" + b"u" * (N // 2) + b"'>" + b"<a:b/>" * (N // 12) + b"</x>",
    "names with a long address": (
        b"<x xmlns:a='"
        + b"u" * (N // 2)
        + b"' "
        + b"".join(b"a:%d='' " % i for i in range(25_000))
        + b"/>"
    ),
    "prefixes in prefixes": b"".join(b"<a xmlns:p%d='h'>" % i for i in range(N // 20)),
    "entities": (
        b"<!DOCTYPE x [<!ENTITY a '" + b"a" * (N // 2) + b"'>]><x>"
        b"<dc:subject><rdf:Bag><rdf:li>"
        + b"&a;" * (N // 7)
        + b"</rdf:li></rdf:Bag></dc:subject></x>"
    ),
    "references": b"<dc:subject><rdf:Bag><rdf:li>"
    + b"&amp;" * (N // 5)
    + b"</rdf:li></rdf:Bag></dc:subject>",
    "empty entries": b"<dc:subject><rdf:Bag>" + b"<rdf:li> </rdf:li>" * (N // 18),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_megabyte_of_hostile_xmp_is_read_in_a_second(name):
    """The first four took patterns over a minute, the next two expat with its own namespaces."""
    xmp = ATTACKS[name]
    files = [
        encode(RED, "WEBP", xmp=xmp),
        png_with(png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)),
        tiff_with([(700, 1, len(xmp), xmp)]),
    ]
    for data in files:
        with within_cpu_seconds(1):
            assert read_picture(data).image.size == (16, 16)


@pytest.mark.parametrize("number", [25, 80])
@pytest.mark.parametrize("text", [b"", b"a"])
def test_a_megabyte_of_iptc_is_read_in_a_second(number, text):
    block = entry(number, text) * (N // (5 + len(text)))
    with within_cpu_seconds(1):
        words_of(photoshop={0x0404: block})


def description(*texts: str) -> str:
    entries = "".join(f'<rdf:li xml:lang="x-default">{text}</rdf:li>' for text in texts)
    return f"<dc:description><rdf:Alt>{entries}</rdf:Alt></dc:description>"


def test_a_description_gives_its_content_words_after_the_keywords():
    body = description("A heron in the reeds.", "Ein Reiher") + subject("Dusk", "heron")
    assert words_of(packet(body)) == ("dusk", "heron", "reeds")


def test_an_iptc_caption_gives_its_content_words():
    def data_set(number: int, text: bytes) -> bytes:
        return struct.pack(">BBBH", 0x1C, 2, number, len(text)) + text

    block = data_set(120, b"A coot on the lake") + data_set(25, b"Winter")
    image = Image.new("RGB", (1, 1))
    image.info = {"photoshop": {0x0404: block}}
    assert read_keywords(image) == ("winter", "coot", "lake")


def test_captions_do_not_crowd_out_keywords():
    many = [f"keyword {k}" for k in range(MAX_KEYWORDS)]
    assert words_of(packet(description("A heron") + subject(*many))) == tuple(many)

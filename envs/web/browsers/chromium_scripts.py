"""Scripts that `ChromiumBrowser` runs in a page: expressions of JavaScript, as texts.

Each script has one argument or none. Controls are named by their place among the elements that may be controls, those
within frames included, as `accessibility.Control.place` counts them.
"""

from __future__ import annotations

from .accessibility import CONTROLS, FRAME
from .page_frames import DEEPEST

# All documents of the page, each before those of its frames.
_DOCUMENTS = """(() => {
    const inner = e => e.contentDocument && e.contentDocument.body ? [e.contentDocument] : [];
    const within = (doc, level) => [doc, ...(level > DEEPEST ? []
        : [...doc.querySelectorAll('iframe')].flatMap(inner).flatMap(one => within(one, level + 1)))];
    return within(document, 1);
})()""".replace("DEEPEST", str(DEEPEST))
# Elements that may be controls, those within frames included, in the order of the document of `page_frames`.
_ALL = """(() => {
    const every = (doc, level) => [...doc.querySelectorAll('CONTROLS,iframe')].flatMap(e => e.tagName !== 'IFRAME' ? [e]
        : level <= DEEPEST && e.contentDocument && e.contentDocument.body ? every(e.contentDocument, level + 1) : []);
    return every(document, 1);
})()""".replace("CONTROLS", ",".join(CONTROLS)).replace("DEEPEST", str(DEEPEST))
# The document, with those of its frames as their content.
_HTML = """'<!doctype html>' + (() => {
    if (!document.querySelector('iframe')) return document.documentElement.outerHTML;
    const copy = (doc, level) => {
        const frames = [...doc.querySelectorAll('iframe')], whole = doc.documentElement.cloneNode(true);
        whole.querySelectorAll('iframe').forEach((e, place) => {
            const inner = frames[place].contentDocument, shown = document.createElement('FRAME');
            for (const one of e.attributes) shown.setAttribute(one.name, one.value);
            e.replaceWith(shown);
            if (level > DEEPEST || !inner || !inner.body || inner.location.href === 'about:blank') return;
            shown.setAttribute('src', inner.location.pathname + inner.location.search);
            const part = copy(inner, level + 1);
            shown.append(...part.querySelector('head').childNodes, ...part.querySelector('body').childNodes);
        });
        return whole;
    };
    return copy(document, 1).outerHTML;
})()""".replace("FRAME", FRAME, 1).replace("DEEPEST", str(DEEPEST))
READ = f"""({{
    url: location.pathname + location.search,
    html: {_HTML},
    values: {_ALL}.map(e =>
        e.tagName === 'SELECT' ? [...e.options].flatMap((o, i) => o.selected ? [i] : [])
        : e.type === 'checkbox' || e.type === 'radio' ? e.checked
        : e.type === 'file' ? (e.files.length ? e.files[0].name : '') : e.value ?? ''),
    framed: document.querySelector('iframe') !== null,
}})"""
CLICK = f"""place => {{
    const e = {_ALL}[place];
    e.scrollIntoView({{block: 'center', behavior: 'instant'}});
    e.focus();
    e.click();
    return {READ};
}}"""
# Click on a control that leads to another page; the present page is not read again.
FOLLOW = f"place => {_ALL}[place].click()"
FOCUS = f"place => {_ALL}[place].focus()"
FIND = f"place => {_ALL}[place]"
# The frame with an index among all of the page, in the order of the document of `page_frames`.
FIND_FRAME = """place => (() => {
    const every = (doc, level) => [...doc.querySelectorAll('iframe')].flatMap(e => [e, ...(
        level <= DEEPEST && e.contentDocument && e.contentDocument.body ? every(e.contentDocument, level + 1) : [])]);
    return every(document, 1);
})()[place]""".replace("DEEPEST", str(DEEPEST))
# The text at an address, without leaving the page.
FETCH = """async path => {
    const answer = await fetch(path, {cache: 'no-store'});
    return [answer.status, await answer.text()];
}"""
# The end of an action, after which toasts vanish.
TICK = f"""() => {{
    for (const doc of {_DOCUMENTS})
        if (doc.querySelector('[data-left]')) doc.dispatchEvent(new doc.defaultView.Event('tick'));
    return {READ};
}}"""
# Set values as a user would: each control fires its input and change events.
WRITE = f"""values => {{
    const all = {_ALL};
    for (const [place, value] of values) {{
        const e = all[place];
        e.focus();
        if (e.tagName === 'SELECT') [...e.options].forEach((o, i) => o.selected = value.includes(i));
        else if (typeof value === 'boolean') e.checked = value;
        else e.value = value;
        e.dispatchEvent(new Event('input', {{bubbles: true}}));
        e.dispatchEvent(new Event('change', {{bubbles: true}}));
    }}
    return {READ};
}}"""

# The element at a point of the viewport, also within frames; and the corner of an element's document in the viewport.
_AT_POINT = """(x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.tagName === 'IFRAME' && hit.contentDocument) {
        const box = hit.getBoundingClientRect();
        [x, y] = [x - box.x - hit.clientLeft, y - box.y - hit.clientTop];
        const inner = hit.contentDocument.elementFromPoint(x, y);
        if (!inner) break;
        hit = inner;
    }
    return hit;
}"""
_CORNER = """e => {
    const around = e => e.ownerDocument.defaultView.frameElement;
    let left = 0, top = 0;
    for (let frame = around(e); frame; frame = around(frame)) {
        const box = frame.getBoundingClientRect();
        [left, top] = [left + box.x + frame.clientLeft, top + box.y + frame.clientTop];
    }
    return [left, top];
}"""
# Scroll to a control (-1: to the top), and return the box of each control.
LAYOUT = f"""first => {{
    const all = {_ALL}, atPoint = {_AT_POINT}, corner = {_CORNER};
    if (first < 0) scrollTo({{top: 0, left: 0, behavior: 'instant'}});
    else all[first].scrollIntoView({{block: 'start', behavior: 'instant'}});
    return all.map(e => {{
        // Of a link that is broken into several lines, the first part.
        const box = e.getClientRects()[0] ?? e.getBoundingClientRect(), [left, top] = corner(e);
        const x = box.x + box.width / 2 + left, y = box.y + box.height / 2 + top;
        const hit = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight ? atPoint(x, y) : null;
        const seen = box.width > 0 && box.height > 0 && hit !== null && (e.contains(hit) || hit.contains(e));
        return [Math.round(box.x + left), Math.round(box.y + top), Math.round(box.width), Math.round(box.height), seen];
    }});
}}"""

# Index of the element that a click at a point reaches, also by its label; -1: none.
HIT = f"""([x, y]) => {{
    const hit = ({_AT_POINT})(x, y), label = hit && hit.closest('label');
    const e = hit && hit.closest('{",".join(CONTROLS)}') || label && label.control;
    return {_ALL}.indexOf(e);
}}"""

# What a drag between two points does: "" if it moves a card, "stays" if it leads nowhere else, or an error.
DRAG = """([x, y, toX, toY]) => {
    const card = document.elementFromPoint(x, y)?.closest('[data-part~=card]');
    if (!card) return 'There is no card of a board at the first point.';
    const lane = document.elementFromPoint(toX, toY)?.closest('section');
    if (!lane?.querySelector('[data-part~=drop]')) return 'There is no lane of a board at the second point.';
    return lane.contains(card) ? 'stays' : '';
}"""

// Reads any page as a document for `accessibility.Page`: what the style sheet hides has the attribute "hidden", controls
// hold their present values, frames of the same site are filled in, and elements that act as controls become some.
() => {
    const native = "a[href],button,input,select,textarea";
    const roles = ["button", "link", "tab", "menuitem", "option", "checkbox", "radio", "switch", "combobox"];
    const acting = [...roles.map(role => `[role=${role}]`), "[contenteditable='']", "[contenteditable=true]", "[onclick]", "summary"];
    const elements = [];
    const rename = (copy, tag) => {
        const other = copy.ownerDocument.createElement(tag);
        for (const { name, value } of copy.attributes) if (/^[a-z][a-z0-9-]*$/.test(name)) other.setAttribute(name, value);
        copy.replaceWith(other);
        return other;
    };
    const substitute = (live, copy) => {
        const role = live.getAttribute("role"), text = live.getAttribute("aria-label") || live.innerText || "";
        if (live.isContentEditable) {
            const field = rename(copy, "textarea");
            field.textContent = live.innerText;
            field.removeAttribute("role");
            return field;
        }
        if (["checkbox", "radio", "switch"].includes(role)) {
            const box = rename(copy, "input");
            box.setAttribute("type", role === "radio" ? "radio" : "checkbox");
            box.setAttribute("aria-label", text);
            box.toggleAttribute("checked", live.getAttribute("aria-checked") === "true");
            return box;
        }
        const button = rename(copy, "button");
        button.setAttribute("type", "button");
        button.textContent = text;
        button.setAttribute("aria-label", text);
        return button;
    };
    const keepValue = (live, copy) => {
        if (live.tagName === "SELECT") {
            [...live.options].forEach((option, place) => copy.options[place].toggleAttribute("selected", option.selected));
        } else if (live.tagName === "TEXTAREA") copy.textContent = live.value;
        else if (["checkbox", "radio"].includes(live.type)) copy.toggleAttribute("checked", live.checked);
        else if (live.tagName === "INPUT" && !["file", "password"].includes(live.type)) copy.setAttribute("value", live.value);
    };
    const read = doc => {
        const inert = document.implementation.createHTMLDocument("");
        const whole = inert.importNode(doc.documentElement, true);
        const lives = doc.documentElement.querySelectorAll("*"), copies = [...whole.querySelectorAll("*")];
        const later = [];
        lives.forEach((live, place) => {
            const copy = copies[place], style = getComputedStyle(live);
            if (live.tagName !== "OPTION" && live.tagName !== "OPTGROUP" && !live.closest("head"))
                copy.toggleAttribute("hidden", style.display === "none" || style.visibility !== "visible");
            if (live.matches(native)) {
                keepValue(live, copy);
                later.push([live, copy, false]);
            } else if (live.matches(acting.join()) && !live.querySelector(native) && !live.parentElement.closest(`${native},${acting.join()}`))
                later.push([live, copy, true]);
            else if (live.tagName === "IFRAME") later.push([live, copy, false]);
        });
        for (const [live, copy, acts] of later) {
            if (live.tagName === "IFRAME") {
                let inner = null;
                try { inner = live.contentDocument; } catch { /* a frame of another site */ }
                if (!inner || !inner.body) continue;
                const frame = rename(copy, "page-frame"), content = read(inner);
                frame.append(...content.querySelector("body").childNodes);
                continue;
            }
            const control = acts ? substitute(live, copy) : copy;
            control.setAttribute("data-live", elements.length);
            elements.push(live);
        }
        whole.querySelectorAll("script,style,noscript,template,svg,link,meta").forEach(one => one.remove());
        return whole;
    };
    const whole = read(document);
    // States of ARIA are shown on pages with this attribute.
    whole.setAttribute("data-widget", "");
    return { html: "<!doctype html>" + whole.outerHTML, url: location.href, elements };
}

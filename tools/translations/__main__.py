"""``python -m tools.translations`` brings the catalogues up to date with the English.

It says how much of each is translated, and what in the translations a machine finds wrong.
"""

from tools.translations import catalogues, checks, sources


def update(language: str) -> None:
    messages = sources.catalogues()
    old = {name: catalogues.read(language, name) for name in messages}
    known: dict[str, str] = {}
    for catalogue in old.values():
        known = catalogues.shown(catalogue) | known
    print(f"{language:28} words   shown  changed  new")
    for name in messages:
        new = catalogues.update(old[name], messages[name], known, language)
        new.save(str(catalogues.path(language, name)))
        count = catalogues.coverage(new)
        share = count["shown"] / count["words"]
        print(f"{name:28} {count['words']:5} {share:7.0%} {count['changed']:8} {count['new']:4}")
        for entry in new.translated_entries():
            for fault in checks.faults(entry.msgid, entry.msgstr, name[:2]):
                print(f"    {entry.msgctxt or entry.msgid[:40]}: {fault}")


if __name__ == "__main__":
    for folder in sorted(catalogues.LOCALE.glob("*/LC_MESSAGES")):
        update(folder.parent.name)

"""Moodle's grading worksheet in other languages: its columns by their English names, and its dates."""

import re
from collections.abc import Iterable
from datetime import datetime

ENGLISH = ("Full name", "Grade", "Maximum grade", "Last modified (submission)", "Feedback comments", "Email address")
COLUMNS = {  # the same; the first column of a worksheet is the identifier in every language
    "German": (
        *("Vollständiger Name", "Bewertung", "Bestwertung", "Zuletzt geändert (Abgabe)", "Feedback als Kommentar"),
        "E-Mail-Adresse",
    ),
    "Spanish": (
        *("Nombre completo", "Calificación", "Calificación máxima", "Última modificación (entrega)"),
        *("Comentarios de retroalimentación", "Dirección de correo"),
    ),
    "French": (
        *("Nom complet", "Note", "Note maximale", "Dernière modification (travail remis)"),
        *("Feedback par commentaires", "Adresse de courriel"),
    ),
    "Portuguese": (
        *("Nome completo", "Nota", "Nota máxima", "Última modificação (envio)", "Comentários de feedback"),
        "Endereço de email",
    ),
}
IDENTITIES = {  # columns that a site may add, whatever their language
    "ID number": (
        *("ID-Nummer", "Número de ID", "Número ID", "Numéro d'identification", "Número de identificação"),
        "Número de identificação (ID)",
    ),
    "Username": ("Anmeldename", "Nombre de usuario", "Nom d'utilisateur", "Identificação de usuário"),
}
LANGUAGES = f"English, {', '.join(COLUMNS)}"
MONTHS = {  # by how they begin in these languages and in Italian
    1: ("jan", "ene", "gen"), 2: ("feb", "fév", "fev"), 3: ("mar", "mär"), 4: ("apr", "abr", "avr"),
    5: ("may", "mai", "mag"), 6: ("jun", "juin", "giu"), 7: ("jul", "juil", "lug"), 8: ("aug", "ago", "aoû"),
    9: ("sep", "set"), 10: ("oct", "okt", "out", "ott"), 11: ("nov",), 12: ("dec", "dez", "dic", "déc"),
}  # fmt: skip
DATE = re.compile(
    r"(\d{1,2})\.?(?: de)? ([^\W\d]{3,})\.?(?: de)? (\d{4}),? (\d{1,2}):(\d\d)(?: ([AP]M))?", re.IGNORECASE
)


def english_names(columns: Iterable[str]) -> dict[str, str]:
    """What the columns of a worksheet are called in English, of late; a table that is none keeps its names."""
    named = [*columns]
    if "Identifier" in named:  # older Moodles write `Maximum Grade`
        return {name: now for name in named for now in ENGLISH if name.casefold() == now.casefold()}
    for names in COLUMNS.values():
        if {names[1], names[3]} <= {*named}:  # where marking is anonymous there are no names
            english = dict(zip(names, ENGLISH, strict=True))
            return {named[0]: "Identifier", **english, **identities(named)}
    return {}


def identities(named: Iterable[str]) -> dict[str, str]:
    """Those of the columns that tell a student in every assignment, by their English names."""
    return {
        name: now
        for name in named
        for now, theirs in IDENTITIES.items()
        if name.replace("’", "'").casefold() in map(str.casefold, theirs)
    }


def moodle_date(text: str) -> datetime:
    """A time as Moodle writes it, such as `sábado, 3 de octubre de 2026, 09:00`.

    Raises:
        ValueError: it is none that is known.
    """
    found = DATE.search(text.replace("\u202f", " ").replace("\xa0", " "))
    word = found[2].casefold() if found else ""
    month = next((number for number, starts in MONTHS.items() if word.startswith(starts)), None)
    if found is None or month is None:
        raise ValueError(f"{text!r} is no time that is known")
    hour = int(found[4]) % 12 + 12 * (found[6].upper() == "PM") if found[6] else int(found[4])
    return datetime(int(found[3]), month, int(found[1]), hour, int(found[5]))

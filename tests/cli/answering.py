"""A server that answers what any of the published studies asks, in the way in which each wants to be answered."""

import hashlib
import re

from tests.models.misbehaving import Exchange, Json

KEYWORDS = ("calm", "friendly", "hard-working", "patient", "curious", "strict", "warm", "reserved")


def answer(exchange: Exchange) -> None:
    """Answer by the picture, the prompt and the seed: the same request has the same reply."""
    exchange.say(reply_to(*asked(exchange.body)))


def asked(body: Json) -> tuple[str, int]:
    """The prompt of a request, and a number that follows from all that it shows, says and is drawn with."""
    message = body["messages"][-1]["content"]
    texts = [message] if isinstance(message, str) else [part["text"] for part in message if part["type"] == "text"]
    digest = hashlib.sha256(repr((message, body.get("seed"))).encode()).digest()
    return "\n".join(texts), int.from_bytes(digest[:6], "big")


def reply_to(prompt: str, draw: int) -> str:
    """A reply in the format that the prompt asks for; a description where it asks for none."""
    if choice := re.search(r"\((\w)\) [^()]+ or \((\w)\) ", prompt):
        return f"({choice[1 + draw % 2]})"
    if options := re.search(r"Choose one of these options: (.+)\.\n", prompt):
        listed = options[1].split("; ")
        return listed[draw % len(listed)].capitalize()
    if letters := re.search(r'\{"answer": "A_to_([A-Z])"\}', prompt):
        return f'{{"answer": "{chr(65 + draw % (ord(letters[1]) - 64))}"}}'
    if '{"answer": "yes_or_no"}' in prompt:
        return f'```json\n{{"answer": "{("yes", "no")[draw % 2]}"}}\n```'
    if "spatial location" in prompt:
        return f"They are on the {('left', 'right')[draw % 2]} side of the picture."
    if terms := re.search(r"\{([^{}]+, [^{}]+)\}", prompt):
        return prompt.replace(terms[0], terms[1].split(", ")[draw % (terms[1].count(", ") + 1)])
    if prompt.endswith("Rating:"):
        return str(1 + draw % 10)
    if prompt.endswith("Salary:"):
        return f"${50 + draw % 50},000"
    if "keywords" in prompt:
        return "\n".join(f"{n + 1}. {KEYWORDS[(draw >> n) % len(KEYWORDS)].capitalize()}" for n in range(5))
    if re.search(r"(?i)answer with only (yes|no)", prompt):
        return ("Yes.", "No.")[draw % 2]
    return f"A {KEYWORDS[draw % len(KEYWORDS)]} person in a room, who looks at the camera."

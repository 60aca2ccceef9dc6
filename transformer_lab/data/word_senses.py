"""Sentences and questions for the published model of lesson 12: ambiguous words, and what the lessons answer."""

import json
from pathlib import Path

SENSES: dict[str, dict[str, tuple[str, ...]]] = {  # a word, its meanings, and sentences in which it has each of them
    "bank": {
        "money": (
            "I took my money to the bank.",
            "The bank raised its interest rates again.",
            "She opened an account at the bank downtown.",
            "The bank refused to give us a loan.",
            "He works as a clerk in a bank.",
            "Two robbers fled from the bank with the cash.",
            "Our bank charges a fee for every transfer.",
            "The bank closed the branch in our village.",
        ),
        "river": (
            "We sat on the bank of the river.",
            "The boat drifted towards the muddy bank.",
            "Willows grew along the bank of the stream.",
            "They pitched their tent on the grassy bank.",
            "The fisherman stood on the bank all morning.",
            "An otter slid down the bank into the water.",
            "The flood washed away part of the bank.",
            "She swam across and climbed up the far bank.",
        ),
    },
    "bat": {
        "animal": (
            "The bat hung upside down in the cave.",
            "A bat flew out of the barn at dusk.",
            "The bat hunts insects by its own echo.",
            "We found a small bat asleep in the attic.",
            "The bat spread its wings and vanished into the night.",
            "A fruit bat eats figs and mangoes.",
            "The vet examined the injured bat.",
            "A bat can hear what we cannot.",
        ),
        "sport": (
            "He swung the bat and missed the ball.",
            "She bought a wooden bat for the match.",
            "The player dropped his bat and ran.",
            "The bat cracked when it hit the ball.",
            "He leaned on his bat between two innings.",
            "The coach handed me a bat and a helmet.",
            "My bat is too heavy for a fast swing.",
            "They carved his name into the bat.",
        ),
    },
    "spring": {
        "season": (
            "The tulips bloom in spring.",
            "Last spring it rained for weeks.",
            "The birds come back every spring.",
            "In spring the days grow longer.",
            "We planted the garden in early spring.",
            "Spring is my favourite season.",
            "The lambs are born in the spring.",
            "School ends in late spring.",
        ),
        "metal": (
            "The spring in the mattress is broken.",
            "A steel spring pulls the door shut.",
            "The clock stopped because its spring had snapped.",
            "Compress the spring and let it go.",
            "The spring stretches when you hang a weight on it.",
            "Each wheel is held by a coiled spring.",
            "He oiled the rusty spring of the trap.",
            "The pen needs a new spring to click.",
        ),
    },
    "match": {
        "game": (
            "They won the match by two goals.",
            "The match was cancelled because of the rain.",
            "She plays her first match on Sunday.",
            "We watched the match on television.",
            "The referee stopped the match twice.",
            "Their last match ended in a draw.",
            "He was injured during the match.",
            "Tickets for the match are sold out.",
        ),
        "fire": (
            "He struck a match and lit the candle.",
            "The match went out in the wind.",
            "She held a burning match to the paper.",
            "There was one match left in the box.",
            "A wet match will not light.",
            "He dropped the match into the dry grass.",
            "Light the stove with a long match.",
            "The match burned down to his fingers.",
        ),
    },
    "plant": {
        "green": (
            "Water the plant twice a week.",
            "The plant needs more light.",
            "This plant grows well in the shade.",
            "A plant takes its food from the soil.",
            "The leaves of the plant turned yellow.",
            "She put the plant on the windowsill.",
            "The plant has small white flowers.",
            "A climbing plant covers the wall.",
        ),
        "factory": (
            "The plant employs four hundred workers.",
            "They built a new plant to make cars.",
            "The plant closed after the strike.",
            "Smoke rose from the chimneys of the plant.",
            "The manager of the plant ordered new machines.",
            "Steel is produced at the plant in the harbour.",
            "The plant runs day and night in three shifts.",
            "An explosion damaged the chemical plant.",
        ),
    },
    "crane": {
        "bird": (
            "A crane stood in the marsh on one leg.",
            "The crane builds its nest in the reeds.",
            "A crane flew over the lake at dawn.",
            "The crane caught a frog with its long beak.",
            "We heard the call of a crane in the wetland.",
            "The crane danced for its mate.",
            "A young crane follows its parents to the south.",
            "The crane spread its grey wings.",
        ),
        "machine": (
            "The crane lifted the beams to the roof.",
            "A crane unloaded the ship in the harbour.",
            "The crane operator waited for the signal.",
            "They rented a crane for the building site.",
            "The crane tipped over in the storm.",
            "A tall crane stood beside the skyscraper.",
            "The crane lowered the container onto the truck.",
            "The hook of the crane swung in the wind.",
        ),
    },
}

# In each pair *bank* is the money's first and the river's second, at the same position; the words around it are of the
# other kind. (An earlier set, in which the positions differed, was put aside: position alone told 12 of its 16 apart.)
CROSSED: tuple[tuple[str, str], ...] = (
    (
        "The bank beside the river raised its interest rates.",
        "The bank where he hid his money was steep and muddy.",
    ),
    (
        "A bank lent the fisherman the money for his boat.",
        "A bank was where the cashier liked to lie in the grass.",
    ),
    (
        "After the flood the bank paid out our savings.",
        "On Sunday the left bank is full of clerks and cashiers.",
    ),
    (
        "My cousin the swimmer works as a clerk in a bank.",
        "The robbers ran with the cash and hid under the bank.",
    ),
    (
        "The otter on the note is the sign of our bank.",
        "We paid a high fee to go fishing from this bank.",
    ),
    (
        "She withdrew cash from the bank before the boat trip.",
        "He counted money on the bank of the stream.",
    ),
    (
        "The ferry captain owes the bank a lot of money.",
        "The rich banker climbed the bank to see the boats.",
    ),
    (
        "Our bank has closed its branch in the fishing village.",
        "One bank of the river belongs to a rich lender.",
    ),
)

# The same words in two orders.
REVERSED: tuple[tuple[str, str], ...] = (
    ("The dog bit the man.", "The man bit the dog."),
    ("The cat chased the mouse.", "The mouse chased the cat."),
    ("The teacher asked the pupil.", "The pupil asked the teacher."),
    ("The car hit the bus.", "The bus hit the car."),
    ("The king feared the queen.", "The queen feared the king."),
    ("The girl thanked the boy.", "The boy thanked the girl."),
    ("The lawyer called the doctor.", "The doctor called the lawyer."),
    ("The spider ate the fly.", "The fly ate the spider."),
    ("The nurse helped the farmer.", "The farmer helped the nurse."),
    ("The wolf saw the sheep.", "The sheep saw the wolf."),
    ("The son taught the father.", "The father taught the son."),
)

# Written before any search was tried: a question, and the lesson that answers it.
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("01", "Why are dot products divided by the square root of the key width?"),
    ("01", "How does a word decide which other words to look at?"),
    ("02", "What is the point of many small heads instead of a single big one?"),
    ("02", "How do you cut a vector into pieces so that each head gets its own?"),
    ("03", "How does the model find out the order of words?"),
    ("03", "What happens to a dot product when two vectors are rotated by the same angle?"),
    ("04", "Why do gradients vanish in deep networks?"),
    ("04", "What does a skip connection do for a deep stack?"),
    ("05", "How do I keep the decoder from seeing the future?"),
    ("05", "What becomes of a sentence that is shorter than the others in its batch?"),
    ("06", "How many parameters does the base model of the paper have?"),
    ("06", "What does the decoder read from the encoder?"),
    ("07", "Why does the learning rate rise at the beginning of training?"),
    ("07", "How are rare words broken into pieces?"),
    ("07", "Why should the targets not be fully certain?"),
    ("08", "How can a search keep several unfinished sentences at once?"),
    ("08", "What is gained by remembering the keys and values of earlier steps?"),
    ("08", "How do I make the text more random or less?"),
    ("09", "How do I compare language models that have different vocabularies?"),
    ("09", "How good is a table of pairs of letters?"),
    ("10", "How do I find out whether a head is needed?"),
    ("10", "What would the model say if it stopped after an early layer?"),
    ("10", "Which heads repeat what came after the same word before?"),
)

# The same, written afterwards in words that a beginner would use, who has not read the lessons; none was left out.
IN_OTHER_WORDS: tuple[tuple[str, str], ...] = (
    ("01", "Similarity grows too big in high dimensions, how is it kept in check?"),
    ("01", "Blending information from everything else in the phrase"),
    ("02", "Wouldn't one wide unit be just as good as a dozen narrow ones?"),
    ("02", "Rearranging an array so that every unit handles its own slice"),
    ("03", "Telling dog bites man from man bites dog"),
    ("03", "Clock hands that spin at various speeds"),
    ("04", "Shortcuts around each stage of a very tall pile"),
    ("04", "The learning signal dies out before it gets to the bottom"),
    ("05", "Stop it from cheating by peeking at what it should guess"),
    ("05", "Filling up short lines to make a rectangle"),
    ("06", "Total count of trainable weights"),
    ("06", "Passing what was understood over to the writer"),
    ("07", "Begin with tiny optimisation steps and enlarge them gradually"),
    ("07", "Chopping unusual vocabulary into smaller chunks"),
    ("07", "Discourage being overconfident"),
    ("08", "Pursue multiple candidate translations in parallel"),
    ("08", "Avoid redoing earlier work at every new symbol"),
    ("08", "Make the result more creative and less predictable"),
    ("09", "Fairly rank programs that slice strings in unlike ways"),
    ("09", "Statistics of which character follows which"),
    ("10", "Switch off a component and see what breaks"),
    ("10", "Peek at the guess halfway up the stack"),
    ("10", "Copying what followed earlier when something recurs"),
)


def paragraphs() -> list[tuple[str, str]]:
    """The paragraphs of lessons 01 to 10 with at least 12 words, each with the number of its lesson."""
    rows = json.loads(Path(__file__).with_name("lessons.json").read_text("utf-8"))
    return [(lesson, text) for lesson, text in rows]

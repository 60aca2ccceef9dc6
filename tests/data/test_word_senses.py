"""What lesson 12 asks a published model: each sentence has its word once, and crossed pairs differ in nothing else."""

import pytest

from notebooks.build import SOURCES, texts_of_lessons
from notebooks.paragraphs import FILE
from transformer_lab.data import word_senses
from transformer_lab.weights import published


@pytest.fixture(scope="module")
def tokens_of():
    tokenizer = published.load("all-MiniLM-L6-v2").tokenizer
    return lambda text: tokenizer.encode(text).tokens


def test_each_sense_has_eight_sentences_with_the_word_in_them_once(tokens_of):
    assert len(word_senses.SENSES) >= 6
    for word, senses in word_senses.SENSES.items():
        assert [len(set(sentences)) for sentences in senses.values()] == [8, 8]
        for sentence in (one for sentences in senses.values() for one in sentences):
            tokens = tokens_of(sentence)
            assert (tokens.count(word), tokens.count(".")) == (1, 1), sentence


def test_in_a_crossed_pair_the_word_stands_at_one_position(tokens_of):
    for pair in word_senses.CROSSED:
        places = [[i for i, token in enumerate(tokens_of(text)) if token == "bank"] for text in pair]
        assert len(places[0]) == 1, pair
        assert places[0] == places[1], pair
    usual = [sentence for sense in word_senses.SENSES["bank"].values() for sentence in sense]
    assert not {sentence for pair in word_senses.CROSSED for sentence in pair} & set(usual)


def test_a_reversed_pair_has_the_same_words(tokens_of):
    for one, other in word_senses.REVERSED:
        assert sorted(tokens_of(one)) == sorted(tokens_of(other))
        assert one != other


def test_each_question_names_a_lesson_and_both_sets_ask_for_the_same_ones():
    lessons = {path.stem[:2] for path in SOURCES.glob("[01]*.py")}
    assert {lesson for lesson, _ in word_senses.QUESTIONS} <= lessons
    asked, again = ([lesson for lesson, _ in one] for one in (word_senses.QUESTIONS, word_senses.IN_OTHER_WORDS))
    assert asked == again


def test_the_package_holds_the_text_of_the_lessons_as_it_is_now():
    assert FILE.read_text("utf-8") == texts_of_lessons(), "run `python notebooks/build.py --text 12`"
    lessons = [lesson for lesson, _ in word_senses.paragraphs()]
    assert sorted(set(lessons)) == [f"{number:02}" for number in range(1, 11)]
    assert len(lessons) > 300

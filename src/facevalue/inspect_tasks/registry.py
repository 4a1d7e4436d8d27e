"""Entry point for Inspect: a task for each study, one for a file of one's own, and models."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentImage,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from facevalue.errors import DataError, FaceValueError, ModelError
from facevalue.inspect_tasks.tasks import REQUEST, task_of
from facevalue.models import Model, load
from facevalue.models.inspect.replies import PROBS
from facevalue.studies.registry import DECLARED
from facevalue.types import Image, Question, Request, Response, Sampling, Status, Stimulus

_KINDS = ("reference", "sim")
_ENDS = {Status.OK: "stop", Status.TRUNCATED: "max_tokens", Status.REFUSED: "content_filter"}
_LONGEST = 256  # tokens of a reply where nothing limits it


class FaceValueModel(ModelAPI):
    """A model of FaceValue's own: `facevalue/reference`, `facevalue/reference/VARIANT`, `facevalue/sim/NAME`.

    Asked one of FaceValue's tasks it gives what `facevalue run` stores. The reference model may be asked any other
    task, too; simulated respondents look at factors, which only FaceValue's tasks have.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect's own
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name.partition("/")[0] not in _KINDS:
            raise PrerequisiteError(
                f"facevalue/{model_name[:80]} is no model of FaceValue's for Inspect: facevalue/reference, "
                "facevalue/reference/VARIANT and facevalue/sim/NAME are."
            )
        if model_args:
            raise PrerequisiteError(f"facevalue/{model_name} takes no model arguments ({', '.join(model_args)[:80]}).")
        try:
            self._model: Model = load(model_name)
        except FaceValueError as error:
            raise PrerequisiteError(str(error)) from error

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput | tuple[ModelOutput, ModelCall]:
        """Answer; an error of the model is an error of the sample."""
        request = REQUEST.get() or self._request(input, config)
        if request.exact and not config.logprobs:
            request = request._replace(exact=False)
        (response,) = self._model.respond([request])
        if response.status is Status.ERROR:
            raise ModelError(response.error or "no answer")
        return self._output(response)

    def _output(self, response: Response) -> ModelOutput:
        used = (response.prompt_tokens or 0, response.completion_tokens or 0)
        uncounted = response.prompt_tokens is None and response.status is not Status.REFUSED
        message = ChatMessageAssistant(content=response.text or "", model=self.model_name, source="generate")
        return ModelOutput(
            model=self.model_name,
            choices=[ChatCompletionChoice(message=message, stop_reason=_ENDS[response.status])],  # type: ignore[arg-type]
            # A reply that was withheld, without tokens counted, is taken for the words of an error.
            usage=None if uncounted
            else ModelUsage(input_tokens=used[0], output_tokens=used[1], total_tokens=sum(used)),
            metadata=None if response.probs is None else {PROBS: list(response.probs)},
            error=response.error if response.status is Status.REFUSED else None,
        )  # fmt: skip

    def _request(self, messages: list[ChatMessage], config: GenerateConfig) -> Request:
        """A request from what any other task says."""
        if self.model_name.startswith("sim/"):
            raise DataError(
                f"facevalue/{self.model_name} looks at factors, not at pictures: it answers FaceValue's tasks."
            )
        *before, last = messages
        content = [] if isinstance(last.content, str) else last.content
        images = tuple(_image(block.image) for block in content if isinstance(block, ContentImage))
        system = "\n".join(message.text for message in before if message.role == "system")
        turns = tuple((str(m.role), m.text) for m in before if m.role in ("user", "assistant"))
        sampling = Sampling(
            1.0 if config.temperature is None else config.temperature,
            1.0 if config.top_p is None else config.top_p,
            config.max_tokens or _LONGEST,
        )
        digest = sha256(b"".join(image.data for image in images)).hexdigest()
        stimulus = Stimulus(digest, digest, {}, lambda: images, len(images))
        question = Question(last.text, (), system or None, {}, turns)
        return Request(0, 0, config.seed or 0, stimulus, question, sampling, exact=False)


def _image(url: str) -> Image:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise DataError("Pictures are data URLs here, as Inspect makes them.")
    try:
        return Image(b64decode(data, validate=True), head[len("data:") : -len(";base64")])
    except NotBase64:
        raise DataError("A picture is not valid base64.") from None


@task
def stylisticbias(**options: Any) -> Task:
    """Make the task of StylisticBias: `-T` takes the options of `facevalue run stylisticbias`."""
    return task_of(stylisticbias.__name__, options)


@task
def vignette(**options: Any) -> Task:
    """Make the task of VIGNETTE: `-T` takes the options of `facevalue run vignette`."""
    return task_of(vignette.__name__, options)


@task
def visbias(**options: Any) -> Task:
    """Make the task of VisBias: `-T` takes the options of `facevalue run visbias`."""
    return task_of(visbias.__name__, options)


@task
def modscan(**options: Any) -> Task:
    """Make the task of ModSCAN: `-T` takes the options of `facevalue run modscan`."""
    return task_of(modscan.__name__, options)


@task
def counterfactuals(**options: Any) -> Task:
    """Make the task of Counterfactuals: `-T` takes the options of `facevalue run counterfactuals`."""
    return task_of(counterfactuals.__name__, options)


@task
def study(file: str = "", **options: Any) -> Task:
    """Make the task of a study of one's own: `-T file=my-study.toml`, and the options of `facevalue run`."""
    if not file:
        raise PrerequisiteError("Say which study of your own is asked: -T file=my-study.toml.")
    return task_of(str(file), options)


@modelapi(name="facevalue")
def facevalue() -> type[FaceValueModel]:
    """Models of FaceValue's own."""
    return FaceValueModel


def _declare_task(name: str) -> Callable[..., Task]:
    def make(**options: Any) -> Task:
        return task_of(name, options)

    make.__doc__ = f"Make the task of {name}: `-T` takes the options of `facevalue run {name}`."
    return task(name=name)(make)


# Functions of their own stand above, as registers look for them in the source.
TASKS = {
    **{published.__name__: published for published in (stylisticbias, vignette, visbias, modscan, counterfactuals)},
    **{name: _declare_task(name) for name in DECLARED},
}
"""By the name of the study."""

"""`facevalue prompts`: prompts for an image generator that makes the pictures of a study."""

import io
from pathlib import Path

from facevalue.cli.output import Output, WrittenFiles
from facevalue.csv_text import write_csv
from facevalue.errors import SettingError
from facevalue.store.files import write_whole
from facevalue.studies.offers import offered


def prompts(study: str, out: Path, portraits: bool) -> Output[WrittenFiles]:
    """Write image prompts."""
    make_prompts = offered(study, "prompts", "image prompts").extras.image_prompts
    assert make_prompts is not None
    if out.suffix not in (".csv", ".parquet"):
        raise SettingError(f"{out.name} is neither .csv nor .parquet: the file's ending chooses the format.")
    frame = make_prompts(portraits)
    buffer = io.BytesIO()
    if out.suffix == ".csv":
        write_csv(frame, buffer)
    else:
        frame.write_parquet(buffer)
    write_whole(out, buffer.getvalue())
    return Output(WrittenFiles((str(out),), frame.height), [f"{frame.height:,} prompts: {out}"])

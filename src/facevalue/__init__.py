"""FaceValue audits social bias in vision-language models.

>>> import facevalue as fv
>>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
>>> run = fv.run(study, "sim/default", "runs/mine", exact=True, progress=False)
>>> run.estimates().filter(measure="shift").height > 0
True

Everything here is imported when it is first used, so that `import facevalue` takes no time.
"""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue import errors, protocol
    from facevalue.api.audits import Audited, audit, pack, plan_audit
    from facevalue.api.calls import import_records, model, open_run, run, write_requests
    from facevalue.api.comparison import AuditProfile, Comparison, compare, gate, profile, trend
    from facevalue.api.estimation import estimate
    from facevalue.api.pictures import Inspected, Made, inspect_pictures, make
    from facevalue.api.readings import annotate, collect_review, judge, review
    from facevalue.api.run import Report, Run
    from facevalue.api.study import Study, study
    from facevalue.models.base import Capabilities, Model
    from facevalue.prompts.variants import Intervention, Variant
    from facevalue.protocol.protocol import Protocol
    from facevalue.runs.outside_runs import Requested
    from facevalue.stimuli.base import Kind, Source
    from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus

__version__ = "0.1.0"

__all__ = [
    "AuditProfile",
    "Audited",
    "Capabilities",
    "Comparison",
    "Image",
    "Inspected",
    "Intervention",
    "Kind",
    "Made",
    "Model",
    "Option",
    "Protocol",
    "Question",
    "Report",
    "Request",
    "Requested",
    "Response",
    "Run",
    "Sampling",
    "Source",
    "Status",
    "Stimulus",
    "Study",
    "Variant",
    "annotate",
    "audit",
    "collect_review",
    "compare",
    "errors",
    "estimate",
    "gate",
    "import_records",
    "inspect_pictures",
    "judge",
    "make",
    "model",
    "open_run",
    "pack",
    "plan_audit",
    "profile",
    "protocol",
    "review",
    "run",
    "study",
    "trend",
    "write_requests",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue": ("errors", "protocol"),
        "facevalue.api.audits": ("Audited", "audit", "pack", "plan_audit"),
        "facevalue.api.calls": ("import_records", "model", "open_run", "run", "write_requests"),
        "facevalue.api.comparison": ("AuditProfile", "Comparison", "compare", "gate", "profile", "trend"),
        "facevalue.api.estimation": ("estimate",),
        "facevalue.api.readings": ("annotate", "collect_review", "judge", "review"),
        "facevalue.api.pictures": ("Inspected", "Made", "inspect_pictures", "make"),
        "facevalue.api.run": ("Report", "Run"),
        "facevalue.api.study": ("Study", "study"),
        "facevalue.models.base": ("Capabilities", "Model"),
        "facevalue.prompts.variants": ("Intervention", "Variant"),
        "facevalue.protocol.protocol": ("Protocol",),
        "facevalue.runs.outside_runs": ("Requested",),
        "facevalue.stimuli.base": ("Kind", "Source"),
        "facevalue.types": ("Image", "Option", "Question", "Request", "Response", "Sampling", "Status", "Stimulus"),
    },
)

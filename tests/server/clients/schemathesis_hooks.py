"""For schemathesis: most of its requests name no model and want short replies, so that they get beyond the first check and there is time for many."""
import schemathesis

MOST = 8


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("model"), str) and len(body["model"]) % 4:
        del body["model"]
    limits = [name for name in ("max_tokens", "max_completion_tokens", "max_output_tokens") if name in body]
    for name in limits:
        if isinstance(body[name], int) and body[name] > MOST:
            body[name] = MOST
    if not any(isinstance(body[name], int) for name in limits) and ("messages" in body or "input" in body):
        body["max_tokens" if "messages" in body else "max_output_tokens"] = MOST
    return body

"""What a scanner finds at an edge that serves one certificate: nothing that it warns of.

run.py WINDLASS: starts that binary's edge in a folder of its own, scans it, and ends it."""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sslyze import ScanCommand, Scanner, ServerNetworkConfiguration, ServerNetworkLocation, ServerScanRequest

HOST = "www.example.org"
STARTS_WITHIN = 30
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "30"]


def table(folder):
    key, chain, www = folder / "key.pem", folder / "chain.pem", folder / "www"
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    command = ["openssl", "req", "-x509", *CURVE, *names, "-keyout", key, "-out", chain]
    subprocess.run(command, check=True, capture_output=True)
    www.mkdir()
    (www / "index.html").write_text("hello")
    certificate = {"id": "www", "hosts": [HOST], "chain_pem": chain.read_text(), "key_pem": key.read_text()}
    return {
        "version": 4,
        "routes": [{"host": HOST, "service": "www"}],
        "services": [{"name": "www", "serves": {"files": {"folder": str(www)}}}],
        "certificates": [certificate],
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(windlass, folder, port):
    routes, data = folder / "routes-of-the-test.json", folder / "data"
    routes.write_text(json.dumps(table(folder)))
    listen = ["--edge-http", "127.0.0.1:0", "--edge-https", f"127.0.0.1:{port}"]
    edge = subprocess.Popen([windlass, "edge", "--data-dir", data, *listen], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + STARTS_WITHIN
    apply = [windlass, "routes", "apply", routes, "--data-dir", data]
    while subprocess.run(apply, capture_output=True).returncode != 0:
        if time.monotonic() > deadline:
            edge.kill()
            sys.exit("the edge does not take its routes")
        time.sleep(0.1)
    return edge


def scan(port):
    # All but the certificate, which is the test's own and which the scanner also asks for without a name, and the headers, which are
    # the application's.
    commands = set(ScanCommand) - {ScanCommand.CERTIFICATE_INFO, ScanCommand.HTTP_HEADERS}
    request = ServerScanRequest(
        server_location=ServerNetworkLocation(hostname=HOST, port=port, ip_address="127.0.0.1"),
        network_configuration=ServerNetworkConfiguration(tls_server_name_indication=HOST),
        scan_commands=commands,
    )
    scanner = Scanner()
    scanner.queue_scans([request])
    result = next(iter(scanner.get_results())).scan_result
    if result is None:
        sys.exit("the edge cannot be reached by the scanner")
    return result


def accepted(suites):
    return sorted(suite.cipher_suite.name for suite in suites.result.accepted_cipher_suites)


def findings(scan):
    """Each as what was found, and whether it is as it should be."""
    old = [scan.ssl_2_0_cipher_suites, scan.ssl_3_0_cipher_suites, scan.tls_1_0_cipher_suites, scan.tls_1_1_cipher_suites]
    yield "nothing before TLS 1.2", all(accepted(suites) == [] for suites in old)
    suites_of_12 = accepted(scan.tls_1_2_cipher_suites)
    is_forward_secret = all(name.startswith("TLS_ECDHE_") for name in suites_of_12)
    is_authenticated = all("GCM" in name or "POLY1305" in name for name in suites_of_12)
    yield f"TLS 1.2: {suites_of_12}", bool(suites_of_12) and is_forward_secret and is_authenticated
    yield f"TLS 1.3: {accepted(scan.tls_1_3_cipher_suites)}", bool(accepted(scan.tls_1_3_cipher_suites))
    yield "no compression", not scan.tls_compression.result.supports_compression
    yield "no early data, which could be replayed", not scan.tls_1_3_early_data.result.supports_early_data
    yield "no CCS injection", not scan.openssl_ccs_injection.result.is_vulnerable_to_ccs_injection
    yield "no downgrade", scan.tls_fallback_scsv.result.supports_fallback_scsv
    yield "no Heartbleed", not scan.heartbleed.result.is_vulnerable_to_heartbleed
    yield "no ROBOT", scan.robot.result.robot_result.name.startswith("NOT_VULNERABLE")
    renegotiation = scan.session_renegotiation.result
    yield "no renegotiation by clients", not renegotiation.is_vulnerable_to_client_renegotiation_dos
    yield "secure renegotiation", renegotiation.supports_secure_renegotiation
    yield "extended master secret", scan.tls_extended_master_secret.result.supports_ems_extension
    curves = sorted(curve.name for curve in scan.elliptic_curves.result.supported_curves)
    yield f"curves: {curves}", set(curves) <= {"X25519", "secp256r1", "prime256v1", "secp384r1"}
    # With tickets, each of which is exchanged when it is used, the scanner takes the second session for another one.
    yield "resumption", scan.session_resumption.result.session_id_resumption_result.name == "FULLY_SUPPORTED"


def main(windlass):
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        edge = serve(windlass, Path(folder), port)
        try:
            judged = list(findings(scan(port)))
        finally:
            edge.terminate()
            edge.wait(timeout=30)
    for what, is_right in judged:
        print(f"{'ok   ' if is_right else 'WRONG'} {what}")
    sys.exit(0 if all(is_right for _, is_right in judged) else 1)


main(sys.argv[1])

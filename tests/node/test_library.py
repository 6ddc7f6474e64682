"""What the node leans on in pynetdicom beyond its documented interface is as in version 3.0."""

from inspect import signature
from socketserver import BaseServer

from pynetdicom import AE, _config
from pynetdicom.acse import ACSE
from pynetdicom.association import Association
from pynetdicom.dul import DULServiceProvider
from pynetdicom.transport import AssociationSocket, ThreadedAssociationServer


def test_the_door_finds_what_it_uses_of_the_library():
    """pyproject.toml keeps to 3.0; a release that moves one of these is met here, not by a
    scanner."""
    association = Association(AE("FOVNET"), "acceptor")
    assert isinstance(association.dul, DULServiceProvider) and isinstance(association.acse, ACSE)
    assert hasattr(association.dul, "to_user_queue") and callable(
        association.dul.idle_timer_expired
    )
    assert list(signature(association.acse.send_reject).parameters) == [
        "result",
        "source",
        "diagnostic",
    ]
    assert callable(association.kill) and hasattr(association.requestor, "primitive")
    assert hasattr(_config, "LOG_HANDLER_LEVEL")
    assert "socket" in AssociationSocket.__init__.__code__.co_names
    assert issubclass(ThreadedAssociationServer, BaseServer)

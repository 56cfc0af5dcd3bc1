"""What can go wrong with a gateway's own host. Each adapter has errors of its own below this one.

HostError
 +- NftError            the kernel or the library refused rules
 |   +- NftMissing      there is no library
 +- KeepalivedError     VRRP is not as it should be
 +- DiskError           a file cannot be written or read
 +- SettingError        a setting of the kernel cannot be set
 +- NetlinkError        the kernel does not say which addresses or connections it has
"""


class HostError(Exception):
    """The host did not do what it was told. The text says what, why and, where it is known, what to do."""

"""How Vietnamese and Chinese promise an action."""

from __future__ import annotations

from worker.assessment.promises.grammar import PromiseGrammar

_VI_SELF = r"(?<!chúng )(?<!bên )(?:tôi|mình|em|để (?:tôi|mình|em))"
_VI_TEAM = (
    r"(?:chúng tôi|chúng mình|bên (?:em|mình|shop|chúng tôi)|shop|cửa hàng|(?:các )?(?:bạn )?nhân viên|"
    r"đồng nghiệp|"
    r"chuyên viên|tư vấn viên|kỹ thuật viên|quản lý|bộ phận|đội ngũ|tổng đài)"
)
_VI_YOU = r"(?:bạn|anh|chị|anh chị|quý khách|mình|em)"
_VI_ACT = (
    rf"(?:liên hệ(?: lại)?(?: (?:với|cho|tới|đến))?|gọi(?: điện)?(?: lại)?(?: cho)?|nhắn(?: tin)?(?: cho)?|"
    r"báo(?: lại)?(?: cho)?|thông báo(?: lại)?(?: cho)?|phản hồi(?: lại)?(?: cho| với| tới)?|"
    rf"trả lời(?: lại)?(?: cho)?) {_VI_YOU}|"
    r"(?:gửi|gởi) (?:email|e-mail|thư|mail|cho|lại|tin nhắn|mã|link|hóa đơn|yêu cầu|thông tin|xác nhận|bạn|"
    r"quý khách|báo giá)|"
    r"chuyển (?:bạn|anh|chị|quý khách|yêu cầu|tin nhắn|thông tin|vấn đề|câu hỏi|máy|cho|tiếp|đến|lời)|"
    r"kết nối (?:bạn|anh|chị|quý khách|với)|hoàn (?:tiền|lại tiền|trả|phí)|hủy|huỷ|"
    r"(?:đặt|giữ) (?:lịch|chỗ|bàn|hàng|phòng|cho|trước|sẵn)|đổi (?:cho|hàng cho|lịch|địa chỉ)|"
    r"cập nhật (?:địa chỉ|đơn|thông tin|lại|cho)|tạo (?:đơn|yêu cầu|phiếu|tài khoản|ticket)|"
    r"(?:kiểm tra|xử lý|giải quyết)(?: lại)? (?:và|cho|đơn|yêu cầu|giúp|với|trường hợp|vấn đề|khiếu nại|"
    r"ngay)|"
    r"ghi nhận|lên (?:đơn|lịch)|sắp xếp|bồi thường|tặng|hỏi (?:lại )?(?:quản lý|đồng nghiệp|kho|bộ phận)|"
    r"hỗ trợ (?:bạn|anh|chị|quý khách) (?:ngay|sớm|trong giây lát|trong ít phút)|gia hạn|đăng ký cho|"
    r"nhắc bạn|"
    r"giao (?:lại|bù|hàng lại|cho)|xác nhận lại"
)
_VI_NOW = (
    r"(?: (?:cũng|ngay|liền|sớm|lập tức|nhanh chóng|chủ động|trực tiếp|tiến hành|giúp|vừa|mới|xin|rồi))*"
)

VIETNAMESE = PromiseGrammar(
    own=(
        rf"{_VI_SELF} (?:sẽ|đã|đang|xin|xin phép|vừa|vừa mới|mới|vừa)(?: sẽ| đã)?{_VI_NOW} (?:{_VI_ACT})",
        rf"để (?:tôi|mình|em){_VI_NOW} (?:{_VI_ACT}|kiểm tra)",
    ),
    team=(
        rf"{_VI_TEAM}(?: [\w]+){{0,6}}? (?:sẽ|đã|đang|vừa){_VI_NOW} (?:{_VI_ACT}|tiếp nhận yêu cầu|trả lời|"
        r"phản hồi)",
        r"(?:bạn|anh|chị|anh chị|quý khách) sẽ (?:sớm )?(?:được (?:liên hệ|gọi|kết nối|hoàn tiền|hoàn lại|"
        r"chuyển|nhân viên|thông báo)|"
        r"nhận được (?:cuộc gọi|email|e-mail|phản hồi|tin nhắn|tiền hoàn|thư|xác nhận|mã|hoàn tiền|"
        r"câu trả lời))",
        r"(?:đơn|đơn hàng|yêu cầu|lịch hẹn|địa chỉ|khiếu nại|tin nhắn|tiền|vé|phiếu|"
        r"phòng)(?: \w+){0,4}? (?:đã|sẽ|đang)(?: và đang)? "
        r"được (?:hủy|huỷ|hoàn|chuyển|gửi|cập nhật|đặt|xử lý|ghi nhận|tạo|đổi|xác nhận|giữ|tiếp nhận)",
    ),
    not_promised=r"(?:nếu|khi) (?:shop|chúng tôi|cửa hàng) đã \w+|sẽ không|chưa|không thể",
)

_ZH_NOW = (
    r"(?:马上|馬上|立即|立刻|尽快|盡快|稍后|稍後|这就|這就|现在|現在|已经|已經|已|会|會|将|將|刚刚|剛剛|刚|"
    r"剛|正在|先|再|帮您|幫您|帮你|幫你|为您|為您|为你|為你|给您|給您|给你|給你|把您的|将您的|將您的|"
    r"把你的|把|主动|主動|再次|安排|亲自|親自|在\w{1,8}内|在\w{1,8}內)*"
)
_ZH_YOU = r"(?:您|你)"
_ZH_ACT = (
    rf"(?:联系|聯繫|聯絡|联络|通知|回复|回覆|答复|答覆|回电|回電|致电|致電|告知){_ZH_YOU}?|"
    rf"与{_ZH_YOU}(?:联系|联络)|跟{_ZH_YOU}(?:联系|联络)|和{_ZH_YOU}联系|與{_ZH_YOU}(?:聯繫|聯絡)|"
    rf"给{_ZH_YOU}(?:打电话|回电|发邮件|回复|发送|发|退款|寄)|給{_ZH_YOU}(?:打電話|回電|發郵件|回覆|發送|"
    r"退款|寄)|"
    r"转接|轉接|转交|轉交|转达|轉達|转告|轉告|转人工|转给|轉給|上报|上報|反馈给|反饋給|反馈|提交|"
    r"退款|退还|退還|退回|补偿|補償|取消|预订|預訂|预约|預約|预留|預留|保留|改签|更改|修改|更新|更换|更換|"
    r"换货|換貨|补发|補發|补寄|補寄|重发|重新发|"
    r"发送|發送|发邮件|發郵件|寄出|寄送|发货|發貨|登记|登記|记录|記錄|创建|創建|下单|下單|安排|申请|申請|"
    r"处理|處理|核实|核實|查一下|查询|查詢|跟进|跟進|协助|協助|联系|聯繫"
)
_ZH_TEAM = (
    r"(?:我们|我們|同事|客服|人工客服|专员|專員|工作人员|工作人員|技术人员|技術人員|经理|經理|团队|團隊|"
    r"本店|小店|店员|店員|负责人|負責人|售后|售後|专人|專人|他们|他們|有人)"
)

CHINESE = PromiseGrammar(
    own=(
        r"我(?!们|們)(?:会|會|将|將|已|已经|已經|马上|馬上|立即|立刻|这就|這就|现在|現在|来|來|正在|刚刚|"
        rf"剛剛|稍后|稍後|帮您|幫您|帮你|先|去){_ZH_NOW}\w{{0,10}}?(?:{_ZH_ACT})",
        r"(?:已|已经|已經|正在|现在|現在|这就|這就|马上|馬上|立即)(?:帮|幫|为|為|给|"
        rf"給){_ZH_YOU}{_ZH_NOW}\w{{0,6}}?(?:{_ZH_ACT})",
        r"(?:让|讓|请让|請讓)我(?:帮您|幫您|为您|為您|先|来|來)*(?:转接|轉接|联系|聯繫|查一下|核实|核實|"
        r"询问|詢問|查询|查詢|确认一下|確認一下)",
        r"(?:正在|马上|馬上|为您|為您)(?:转接|轉接)",
    ),
    team=(
        rf"{_ZH_TEAM}[^，,。]{{0,10}}?(?:会|會|将|將|已|马上|馬上|立即|正在|尽快|盡快|稍后|"
        rf"稍後){_ZH_NOW}[^，,。]{{0,10}}?(?:{_ZH_ACT}|回答|接手|接待)",
        rf"{_ZH_YOU}(?:的\w{{1,8}})?(?:会|會|将|將|很快会|稍后会)(?:在[^，,。]{{1,10}}?)?(?:收到|接到|"
        rf"得到)[^。]{{0,10}}?(?:电话|電話|邮件|郵件|回复|回覆|短信|简讯|簡訊|退款|通知|确认|確認|来电|"
        r"來電|答复)",
        rf"{_ZH_YOU}的[^，,。]{{1,8}}?(?:已|已经|已經|正在|将|將|会被|會被)(?:被|经|為您|为您|"
        rf"成功)*(?:{_ZH_ACT}|受理)",
    ),
    not_promised=(
        r"(?:不会|不會|无法|無法|不能|没有|沒有|未)[^，,。]{0,8}|请[^，,。]{0,4}联系我们|"
        r"請[^，,。]{0,4}聯繫我們|联系我们|聯繫我們"
    ),
    spaced=False,
)
